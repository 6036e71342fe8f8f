//! As whom programs of the operator run: the ServiceAccounts that the chart makes, with the permissions that it gives, and no more.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use control_plane::ControlPlane;
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams, TypeMeta},
    config::{AuthInfo, Kubeconfig, KubeconfigError},
    core::GroupVersionKind,
};
use serde_json::Value;
use task_crds::NAMESPACE;

use crate::{BuildError, CONTROLLER, workspace};

const FIELD_MANAGER: &str = "local-operator";

/// Of the objects of the manifest, those that are applied.
const KINDS: [&str; 6] = [
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
];

/// How long its token is good, in seconds: longer than any control plane of a developer lives.
const LIFE: i64 = 365 * 24 * 3600;

/// Why a program has no identity.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no manifest to take it from.
    #[error(transparent)]
    Workspace(#[from] BuildError),
    /// A file could not be read or written.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The manifest is not YAML.
    #[error("cannot read the manifest")]
    Yaml(#[source] Box<serde_saphyr::Error>),
    /// What stands in the manifest is no object of Kubernetes.
    #[error("an object of the manifest is none")]
    Object(#[source] serde_json::Error),
    /// The control plane has no client.
    #[error(transparent)]
    ControlPlane(#[from] control_plane::Error),
    /// The API server did not do as it was asked.
    #[error("the API server does not make {what}")]
    Api {
        /// What it was to make.
        what: String,
        /// What it said.
        #[source]
        source: Box<kube::Error>,
    },
    /// The kubeconfig of the control plane cannot be read, or a new one not be written.
    #[error("cannot make a kubeconfig")]
    Kubeconfig(#[source] Box<KubeconfigError>),
    /// The API server gave no token.
    #[error("the API server gave no token for the ServiceAccount")]
    NoToken,
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, source }
}

fn api_error(what: &str) -> impl FnOnce(kube::Error) -> Error {
    let what = what.to_owned();
    move |source| Error::Api {
        what,
        source: Box::new(source),
    }
}

/// The objects of `deploy/install.yaml`, in its order.
///
/// # Errors
/// When it cannot be read.
pub fn manifest() -> Result<Vec<Value>, Error> {
    let path = workspace()?.join("deploy/install.yaml");
    let text = fs::read_to_string(&path).map_err(io_error(&path))?;
    serde_saphyr::from_multiple(&text).map_err(|source| Error::Yaml(Box::new(source)))
}

/// Makes, in the cluster, the ServiceAccount of task-controller with the permissions that the manifest gives it, and writes a kubeconfig
/// with a token of it into `folder`. Gives the path; the namespace in it is the operator's.
///
/// # Errors
/// See [`Error`].
pub async fn controller_kubeconfig(
    control_plane: &ControlPlane,
    folder: &Path,
) -> Result<PathBuf, Error> {
    kubeconfig_of(CONTROLLER, manifest()?, control_plane, folder).await
}

/// The same for the ServiceAccount `account` that stands, with its permissions, among these objects.
///
/// # Errors
/// See [`Error`].
pub async fn kubeconfig_of(
    account: &str,
    objects: Vec<Value>,
    control_plane: &ControlPlane,
    folder: &Path,
) -> Result<PathBuf, Error> {
    let client = control_plane.client()?;
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default();
        if KINDS.contains(&kind) {
            apply(&client, object).await?;
        }
    }
    let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig())
        .map_err(|source| Error::Kubeconfig(Box::new(source)))?;
    let kubeconfig = with_token(kubeconfig, token(client, account).await?);
    let path = folder.join(format!("{account}.kubeconfig"));
    // JSON is YAML.
    let text = serde_json::to_vec(&kubeconfig).map_err(Error::Object)?;
    fs::write(&path, text).map_err(io_error(&path))?;
    Ok(path)
}

async fn apply(client: &Client, object: Value) -> Result<(), Error> {
    let object: DynamicObject = serde_json::from_value(object).map_err(Error::Object)?;
    let TypeMeta { api_version, kind } = object.types.clone().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object.metadata.name.clone().unwrap_or_default();
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&name, &params, &Patch::Apply(&object))
        .await
        .map_err(api_error(&format!("{kind} {name}")))?;
    Ok(())
}

async fn token(client: Client, account: &str) -> Result<String, Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client, NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(LIFE),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(account, &PostParams::default(), &request)
        .await
        .map_err(api_error("a token"))?;
    let status = answer.status.and_then(|status| status.token);
    status.ok_or(Error::NoToken)
}

/// The same server for whoever has the token.
fn with_token(mut kubeconfig: Kubeconfig, token: String) -> Kubeconfig {
    for user in &mut kubeconfig.auth_infos {
        user.auth_info = Some(AuthInfo {
            token: Some(token.clone().into()),
            ..AuthInfo::default()
        });
    }
    for context in &mut kubeconfig.contexts {
        if let Some(context) = &mut context.context {
            context.namespace = Some(NAMESPACE.to_owned());
        }
    }
    kubeconfig
}
