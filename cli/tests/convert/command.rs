//! `kubectl task convert` as a program.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const OLD: &str =
    "apiVersion: task.example.io/v1alpha1\nkind: Task\nmetadata: {name: a}\nspec: {provider: p}\n";
const NEW: &str = "apiVersion: task.example.io/v1\nkind: Task\nmetadata: {name: a}\nspec: {operation: {provider: p}}\n";

fn convert(args: &[&str], input: &str) -> Output {
    run(&[&["convert"], args].concat(), input)
}

fn run(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubectl-task"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn the_standard_input_goes_to_the_standard_output_and_the_story_elsewhere() {
    let output = convert(&["-f", "-", "--output-version", "v1"], OLD);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), NEW);
    assert_eq!(
        text(&output.stderr),
        "standard input: Task a v1alpha1 -> v1\n"
    );
}

#[test]
fn an_unknown_version_is_wrong_usage_and_names_those_there_are() {
    let output = convert(&["-f", "-", "--output-version", "v2"], OLD);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert!(
        text(&output.stderr)
            .contains("expected one of task.example.io/v1alpha1, task.example.io/v1")
    );
}

#[test]
fn a_task_of_an_unknown_version_is_an_error_that_tells_where_it_stands() {
    let file = format!("a: 1\n---\n{}", OLD.replace("v1alpha1", "v1beta1"));
    let output = convert(&["-f", "-", "--output-version", "v1"], &file);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let story = text(&output.stderr);
    assert!(story.contains("standard input: document 2, line 3: Task a: unknown version \"task.example.io/v1beta1\""), "{story}");
}

#[test]
fn files_of_a_folder_and_of_those_below_are_written_back_where_something_changed() {
    let folder = tempfile::tempdir().unwrap();
    let old = write(folder.path(), "a.yaml", OLD);
    let below = write(folder.path(), "below/b.yml", OLD);
    let foreign = write(folder.path(), "c.yaml", "kind:   Pod\r\n");
    let before = fs::metadata(&foreign).unwrap().modified().unwrap();
    let path = folder.path().display().to_string();

    let output = convert(
        &["-f", &path, "-R", "--output-version=v1", "--in-place"],
        "",
    );

    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
    assert_eq!(fs::read_to_string(&old).unwrap(), NEW);
    assert_eq!(fs::read_to_string(&below).unwrap(), NEW);
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "kind:   Pod\r\n");
    assert_eq!(fs::metadata(&foreign).unwrap().modified().unwrap(), before);
    let names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn where_one_file_cannot_be_converted_none_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "a.yaml", OLD);
    write(folder.path(), "template.yaml", "name: {{ .Values.name }}\n");
    let path = folder.path().display().to_string();

    let output = convert(&["-f", &path, "--output-version=v1", "--in-place"], "");

    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&good).unwrap(), OLD);
    assert!(
        text(&output.stderr).contains("template.yaml: document 1, line 1:"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn several_documents_in_json_are_a_list() {
    let both = format!("{OLD}---\nkind: Pod\n");
    let output = convert(&["-f", "-", "--output-version=v1", "-o", "json"], &both);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["kind"], "List");
    assert_eq!(json["items"][0]["spec"]["operation"]["provider"], "p");
    assert_eq!(json["items"][1]["kind"], "Pod");
}

#[test]
fn a_lost_comment_is_a_finding_where_one_asks_for_it() {
    let commented = OLD.replace("spec: {provider: p}", "spec:\n  provider: p # why");
    let args = ["-f", "-", "--output-version=v1"];
    assert_eq!(convert(&args, &commented).status.code(), Some(0));
    let strict = [&args[..], &["--fail-on=warn"]].concat();
    assert_eq!(convert(&strict, &commented).status.code(), Some(1));
}

#[test]
fn a_round_trip_of_a_task_of_an_unknown_version_is_an_error() {
    for file in [
        OLD.replace("v1alpha1", "v9"),
        "apiVersion: task.example.io/v9\nkind: TaskList\nitems: [{metadata: {name: a}}]\n"
            .to_owned(),
    ] {
        let output = run(&["diff", "-f", "-", "--round-trip"], &file);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let story = text(&output.stderr);
        assert!(
            story.contains("unknown version \"task.example.io/v9\""),
            "{story}"
        );
    }
}

#[test]
fn a_comparison_of_no_task_says_so() {
    let output = run(&["diff", "-f", "-", "--round-trip"], "kind: Pod\n");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stdout).contains("there is no Task in it"),
        "{output:?}"
    );
}

#[test]
fn what_kubectl_would_not_read_is_an_error_and_not_passed_over() {
    for (file, why) in [
        (
            format!(
                "a: 1\n--- {{apiVersion: {}, kind: Task}}\n",
                "task.example.io/v1alpha1"
            ),
            "document 2, line 2: kubectl does not read what stands after ---",
        ),
        (
            format!("{OLD}...\n{OLD}"),
            "document 1, line 1: kubectl does not read the Task that stands after ...",
        ),
        (
            format!("- {}", OLD.trim_end().replace('\n', "\n  ")),
            "document 1, line 1: an array of Tasks",
        ),
    ] {
        let output = convert(&["-f", "-", "--output-version=v1"], &file);
        assert_eq!(output.status.code(), Some(2), "{file}");
        let story = text(&output.stderr);
        assert!(story.contains(why), "{story}");
    }
}

#[test]
fn the_standard_input_is_not_read_twice() {
    for args in [
        &["convert", "-f", "-", "-f", "-", "--output-version=v1"][..],
        &["diff", "-f", "-", "--with", "-"],
    ] {
        let output = run(args, OLD);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains("once only"), "{output:?}");
    }
}

#[test]
fn both_sides_of_a_comparison_are_as_deep() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.yaml", OLD);
    write(
        folder.path(),
        "below/b.yaml",
        &OLD.replace("name: a", "name: b"),
    );
    let path = folder.path().to_str().unwrap();
    for recursive in [&[][..], &["-R"]] {
        let args = [&["diff", "-f", path, "--with", path], recursive].concat();
        assert_eq!(run(&args, "").status.code(), Some(0), "{recursive:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_nothing_to_complain_of() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubectl-task"))
        .args(["convert", "-f", "-", "--output-version=v1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    child
        .stdin
        .take()
        .unwrap()
        .write_all(OLD.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "standard input: Task a v1alpha1 -> v1\n"
    );
}

#[test]
fn a_file_that_may_not_be_written_is_an_error_and_no_other_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let first = write(folder.path(), "a.yaml", OLD);
    let protected = write(folder.path(), "b.yaml", OLD);
    let mut permissions = fs::metadata(&protected).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&protected, permissions).unwrap();
    let path = folder.path().display().to_string();

    let output = convert(&["-f", &path, "--output-version=v1", "--in-place"], "");

    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let story = text(&output.stderr);
    assert!(
        story.contains(&format!("error: cannot write {protected}: it is read-only")),
        "{story}"
    );
    for file in [first, protected] {
        assert_eq!(fs::read_to_string(file).unwrap(), OLD);
    }
}

#[test]
fn ctrl_c_leaves_each_file_as_it_was_or_converted_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let count = 300;
    for number in 0..count {
        write(folder.path(), &format!("{number:04}.yaml"), OLD);
    }
    let path = folder.path().display().to_string();
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubectl-task"))
        .args(["convert", "-f", &path, "--output-version=v1", "--in-place"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let first = folder.path().join("0000.yaml");
    while fs::read_to_string(&first).unwrap() == OLD {
        assert_eq!(child.try_wait().unwrap(), None);
    }
    kill(
        Pid::from_raw(child.id().cast_signed()),
        Some(Signal::SIGINT),
    )
    .unwrap();

    assert_eq!(child.wait().unwrap().code(), Some(2));

    let mut converted = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text == OLD || text == NEW, "{}: {text}", path.display());
        converted += usize::from(text == NEW);
    }
    assert!((1..count).contains(&converted), "{converted}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), count);
}

#[test]
fn a_standard_error_that_takes_no_more_does_not_end_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "a.yaml", OLD);
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-task"))
        .args(["convert", "-f", &file, "--output-version=v1"])
        .stdout(Stdio::piped())
        .stderr(
            fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap(),
        )
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), NEW);
}
