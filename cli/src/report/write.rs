//! The forms of a report.

use std::io::{self, Write};

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use tabwriter::TabWriter;

use super::{Finding, Format, Report, Verdict};

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Loss => "loss",
        }
    }
}

impl Report {
    /// Writes the report in the form that was asked for.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write(&self, format: Format, mut out: impl Write) -> io::Result<()> {
        match format {
            Format::Table => self.table(&mut out),
            Format::Json => {
                serde_json::to_writer_pretty(&mut out, self)?;
                writeln!(out)
            }
            Format::Junit => self.junit(&mut out),
            Format::Markdown => self.markdown(&mut out),
        }
    }

    fn table(&self, out: &mut impl Write) -> io::Result<()> {
        let mut out = TabWriter::new(out).padding(3);
        writeln!(out, "VERDICT\tCHECK\tSUBJECT\tMESSAGE")?;
        for finding in &self.findings {
            let Finding { check, .. } = finding;
            let [subject, message] =
                [&finding.subject, &finding.message].map(|text| one_line(text));
            writeln!(
                out,
                "{}\t{check}\t{subject}\t{message}",
                finding.verdict.word()
            )?;
        }
        out.flush()
    }

    fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "| verdict | check | subject | message |\n|---|---|---|---|"
        )?;
        for finding in &self.findings {
            let Finding { check, .. } = finding;
            let [subject, message] = [&finding.subject, &finding.message].map(|text| cell(text));
            writeln!(
                out,
                "| {} | {check} | {subject} | {message} |",
                finding.verdict.word()
            )?;
        }
        Ok(())
    }

    fn junit(&self, out: &mut impl Write) -> io::Result<()> {
        let name = format!("kubectl task {}", self.command);
        let mut suite = TestSuite::new(name.as_str());
        for finding in &self.findings {
            let mut case = TestCase::new(
                match finding.subject.is_empty() {
                    true => finding.check.to_owned(),
                    false => format!("{}: {}", finding.check, finding.subject),
                },
                status(finding),
            );
            case.set_classname(finding.check);
            suite.add_test_case(case);
        }
        let mut report = quick_junit::Report::new(name);
        report.add_test_suite(suite);
        report.serialize(out).map_err(io::Error::other)
    }
}

fn status(finding: &Finding) -> TestCaseStatus {
    if finding.verdict < Verdict::Warn {
        return TestCaseStatus::success();
    }
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status
        .set_type(finding.verdict.word())
        .set_message(finding.message.as_str());
    status
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cell(text: &str) -> String {
    one_line(text).replace('\\', "\\\\").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format) -> String {
        let mut report = Report::of("check");
        report.add(Verdict::Ok, "webhook", "", "it answers");
        report.add(Verdict::Loss, "round trip", "default/a", "a | b\nis <lost>");
        let mut out = Vec::new();
        report.write(format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_has_a_line_for_each_finding() {
        insta::assert_snapshot!(written(Format::Table), @r"
        VERDICT   CHECK        SUBJECT     MESSAGE
        ok        webhook                  it answers
        loss      round trip   default/a   a | b is <lost>
        ");
    }

    #[test]
    fn markdown_keeps_its_columns_whatever_a_message_holds() {
        insta::assert_snapshot!(written(Format::Markdown), @r"
        | verdict | check | subject | message |
        |---|---|---|---|
        | ok | webhook |  | it answers |
        | loss | round trip | default/a | a \| b is <lost> |
        ");
    }

    #[test]
    fn json_is_one_object() {
        let json: serde_json::Value = serde_json::from_str(&written(Format::Json)).unwrap();
        assert_eq!(json["command"], "check");
        assert_eq!(json["findings"][1]["verdict"], "loss");
        assert_eq!(json["findings"][1]["message"], "a | b\nis <lost>");
    }

    #[test]
    fn junit_has_a_test_case_for_each_finding() {
        insta::assert_snapshot!(written(Format::Junit), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="kubectl task check" tests="2" skipped="0" failures="1" errors="0">
            <testsuite name="kubectl task check" tests="2" skipped="0" errors="0" failures="1">
                <testcase name="webhook" classname="webhook"/>
                <testcase name="round trip: default/a" classname="round trip">
                    <failure message="a | b
        is &lt;lost&gt;" type="loss"/>
                </testcase>
            </testsuite>
        </testsuites>
        "#);
    }
}
