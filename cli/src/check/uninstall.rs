//! What would be stranded if the operator went: Tasks, which nobody could convert, judge or let go any more.

use kube::api::ListParams;
use kube::{Api, Client};
use task_api_v1::Task;

use crate::cluster::told;
use crate::report::{Report, Verdict};

/// Looks at a cluster whose definition of Task is there.
pub(super) async fn look(client: &Client, report: &mut Report) {
    let tasks: Api<Task> = Api::all(client.clone());
    match tasks.list_metadata(&ListParams::default().limit(1)).await {
        Ok(list) => {
            let more = list.metadata.remaining_item_count.unwrap_or_default();
            let count = i64::try_from(list.items.len()).unwrap_or(i64::MAX) + more;
            let (verdict, advice) = match count {
                0 => (Verdict::Ok, ""),
                _ => (
                    Verdict::Loss,
                    "; delete them first: nobody could read or delete one any more",
                ),
            };
            report.add(verdict, "tasks", "", format!("{count} Tasks{advice}"));
        }
        Err(error) => {
            let why = told(&error);
            report.add(
                Verdict::Warn,
                "tasks",
                "",
                format!("cannot be listed: {why}"),
            );
        }
    }
    report.add(
        Verdict::Warn,
        "definition",
        "",
        "Task is defined; once there are no Tasks, kubectl delete customresourcedefinition tasks.task.example.io",
    );
}
