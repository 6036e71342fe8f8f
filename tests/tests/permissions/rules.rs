//! What the manifest lets task-controller do, one permission at a time, and what it did.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// As whom the API server knows task-controller.
pub const USER: &str = "system:serviceaccount:task-system:task-controller";

/// One thing that somebody may do, or did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    group: String,
    /// The resource and, after a slash, the subresource.
    resource: String,
    verb: String,
    /// The object, where it is for one only.
    name: Option<String>,
    /// The namespace, where it is for one only.
    namespace: Option<String>,
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            resource,
            verb,
            ..
        } = self;
        write!(f, "{verb} {resource}.{group}")?;
        for (word, value) in [("", &self.name), (" in ", &self.namespace)] {
            if let Some(value) = value {
                write!(f, "{word} {value}")?;
            }
        }
        Ok(())
    }
}

impl Permission {
    /// Whether `done` is allowed by this.
    pub fn allows(&self, done: &Self) -> bool {
        let is_for = |of: &Option<String>, what: &Option<String>| of.is_none() || of == what;
        self.group == done.group
            && self.resource == done.resource
            && self.verb == done.verb
            && is_for(&self.name, &done.name)
            && is_for(&self.namespace, &done.namespace)
    }

    /// What the objects of a manifest let task-controller do.
    pub fn given(objects: &[Value]) -> BTreeSet<Self> {
        let is_bound = |binding: &&Value| {
            let subject = &binding["subjects"][0];
            subject["name"] == "task-controller" && binding["roleRef"]["name"].is_string()
        };
        let bindings = objects.iter().filter(is_bound);
        let mut given = BTreeSet::new();
        for binding in bindings {
            let role = objects.iter().find(|object| {
                object["kind"] == binding["roleRef"]["kind"]
                    && object["metadata"]["name"] == binding["roleRef"]["name"]
            });
            let namespace = binding["metadata"]["namespace"].as_str();
            for rule in role.unwrap()["rules"].as_array().unwrap() {
                given.extend(Self::of_rule(rule, namespace));
            }
        }
        given
    }

    fn of_rule(rule: &Value, namespace: Option<&str>) -> Vec<Self> {
        let texts = |list: &Value| -> Vec<String> {
            let list = list.as_array().into_iter().flatten();
            list.map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        let names = match texts(&rule["resourceNames"]) {
            names if names.is_empty() => vec![None],
            names => names.into_iter().map(Some).collect(),
        };
        let mut all = Vec::new();
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                for verb in texts(&rule["verbs"]) {
                    all.extend(names.iter().map(|name| Self {
                        group: group.clone(),
                        resource: resource.clone(),
                        verb: verb.clone(),
                        name: name.clone(),
                        namespace: namespace.map(str::to_owned),
                    }));
                }
            }
        }
        all
    }

    /// What an event of the audit log says that task-controller did. A server-side apply that created the object takes both verbs.
    pub fn of(event: &Value) -> Vec<Self> {
        let verb = event["verb"].as_str().unwrap_or_default();
        let created = event["responseStatus"]["code"] == 201 && verb != "create";
        let verbs = [Some(verb), created.then_some("create")];
        let verbs = verbs.into_iter().flatten();
        verbs.filter_map(|verb| Self::done(event, verb)).collect()
    }

    fn done(event: &Value, verb: &str) -> Option<Self> {
        if event["user"]["username"] != USER {
            return None;
        }
        let object = &event["objectRef"];
        let text = |name: &str| object[name].as_str().map(str::to_owned);
        let mut resource = text("resource")?;
        if let Some(subresource) = object["subresource"].as_str() {
            resource = format!("{resource}/{subresource}");
        }
        Some(Self {
            group: text("apiGroup").unwrap_or_default(),
            resource,
            verb: verb.to_owned(),
            name: text("name"),
            namespace: text("namespace"),
        })
    }
}
