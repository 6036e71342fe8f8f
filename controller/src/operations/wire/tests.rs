use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::operations::providers::validate;

fn provider() -> Provider {
    let text = "providers: [{name: volumes, url: \"https://volumes.example/v1/\"}]";
    validate::parse(text).unwrap().remove(0)
}

fn reply(code: u16, body: &Value) -> Answer {
    answer(Asked::Start, code, body, None)
}

fn answer(asked: Asked, code: u16, body: &Value, location: Option<&str>) -> Answer {
    let body = body.to_string();
    let reply = Reply {
        code,
        retry_after: None,
        location,
        body: body.as_bytes(),
    };
    provider().answer(asked, reply, Timestamp::UNIX_EPOCH)
}

fn handle(location: &str) -> (Option<String>, Option<String>) {
    let body = json!({"id": "op-1", "status": "Running"});
    match answer(Asked::Start, 202, &body, Some(location)) {
        Answer::Told(told) => (told.id, told.error.map(|error| error.code)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_usual_place_goes_by_the_id() {
    assert_eq!(
        provider().start_url().as_str(),
        "https://volumes.example/v1/operations"
    );
    for location in [
        "https://volumes.example/v1/operations/op-1",
        "/v1/operations/op-1",
        "operations/op-1",
    ] {
        assert_eq!(
            handle(location),
            (Some("op-1".to_owned()), None),
            "{location}"
        );
    }
}

#[test]
fn another_place_of_the_providers_goes_by_its_path() {
    let (handle, refused) = handle("https://volumes.example/status/7?full=1");
    assert_eq!(
        (handle.as_deref(), refused),
        (Some("/status/7?full=1"), None)
    );
    assert_eq!(
        provider().operation_url("/status/7?full=1").as_str(),
        "https://volumes.example/status/7?full=1"
    );
}

#[test]
fn a_place_that_is_not_the_providers_is_refused() {
    for location in [
        "https://elsewhere.example/operations/op-1",
        "//elsewhere.example/operations/op-1",
        "http://volumes.example/v1/operations/op-1",
        "https://volumes.example:8443/v1/operations/op-1",
        "https://me@volumes.example/v1/operations/op-1",
        "javascript:alert(1)",
    ] {
        assert_eq!(
            handle(location),
            (
                Some("op-1".to_owned()),
                Some("PollingUrlRefused".to_owned())
            ),
            "{location}"
        );
    }
}

#[test]
fn the_answers_to_a_start() {
    let running = json!({"id": "op-1", "status": "Running"});
    let said = |code| match reply(code, &running) {
        Answer::Told(_) => "told",
        Answer::Refused(_) => "refused",
        Answer::Failed {
            without_effect: true,
            ..
        } => "without effect",
        Answer::Failed { .. } => "unclear",
        Answer::Agreed | Answer::NotFound => "wrong",
    };
    for (codes, expected) in [
        (&[200, 201, 202][..], "told"),
        (&[301, 307, 400, 401, 403, 404, 405, 413, 422], "refused"),
        (&[408, 409, 425, 500, 502, 503, 504], "unclear"),
        (&[429], "without effect"),
    ] {
        for code in codes {
            assert_eq!(said(*code), expected, "{code}");
        }
    }
}

#[test]
fn an_accepted_start_without_a_body_goes_by_its_location() {
    let Answer::Told(told) = answer(Asked::Start, 202, &json!(null), Some("/v1/operations/op-9"))
    else {
        panic!("not told");
    };
    assert_eq!(told.id.as_deref(), Some("/v1/operations/op-9"));
    assert!(matches!(
        reply(202, &json!(null)),
        Answer::Failed {
            without_effect: false,
            ..
        }
    ));
}

#[test]
fn how_an_operation_stands_is_read() {
    let body = json!({
        "id": "op-1", "status": "Failed", "url": "https://console.example/op-1",
        "error": {"code": "Quota", "message": "full"}, "result": {"a": 1},
    });
    let Answer::Told(told) = answer(Asked::About(Call::Poll), 200, &body, None) else {
        panic!("not told");
    };
    assert_eq!(told.status, Status::Failed);
    assert_eq!(told.error, Some(Failure::new("Quota", "full")));
    assert_eq!(told.result.as_deref(), Some(r#"{"a":1}"#));
    assert_eq!(told.url.as_deref(), Some("https://console.example/op-1"));
}

#[test]
fn only_an_end_is_an_end() {
    for (text, status) in [
        ("NotStarted", Status::UnderWay),
        ("Running", Status::UnderWay),
        ("Validating", Status::UnderWay),
        ("succeeded", Status::UnderWay),
        ("Succeeded", Status::Succeeded),
        ("Canceled", Status::Canceled),
    ] {
        let body = json!({"status": text});
        let Answer::Told(told) = answer(Asked::About(Call::Poll), 200, &body, None) else {
            panic!("not told");
        };
        assert_eq!(told.status, status, "{text}");
    }
    let nothing = answer(Asked::About(Call::Poll), 200, &json!({}), None);
    assert!(matches!(nothing, Answer::Failed { .. }), "{nothing:?}");
}

#[test]
fn a_link_that_no_browser_should_follow_is_dropped() {
    let body = json!({"status": "Running", "url": "javascript:alert(1)"});
    let Answer::Told(told) = answer(Asked::About(Call::Poll), 200, &body, None) else {
        panic!("not told");
    };
    assert_eq!(told.url, None);
}

#[test]
fn a_cancellation_need_not_say_more() {
    let cancel = Asked::About(Call::Cancel);
    assert_eq!(answer(cancel, 204, &json!(null), None), Answer::Agreed);
    assert_eq!(answer(cancel, 404, &json!(null), None), Answer::NotFound);
}

#[test]
fn the_reason_of_a_failure_is_the_providers() {
    let Answer::Refused(failure) =
        reply(422, &json!({"error": {"code": "Bad", "message": "size"}}))
    else {
        panic!("not refused");
    };
    assert_eq!(failure, Failure::new("HTTP422", "Bad: size"));
}

proptest! {
    #[test]
    fn no_id_leads_away_from_the_provider(id: String) {
        let url = provider().operation_url(&id);
        prop_assert_eq!(url.origin(), provider().url.origin());
        prop_assert!(id.starts_with('/') || url.path().starts_with("/v1/operations/"), "{}", url);
    }

    #[test]
    fn no_body_makes_it_panic(body: Vec<u8>, code in 100..600_u16) {
        for asked in [Asked::Start, Asked::About(Call::LookUp), Asked::About(Call::Poll), Asked::About(Call::Cancel)] {
            let reply = Reply { code, retry_after: None, location: None, body: &body };
            let _ = provider().answer(asked, reply, Timestamp::UNIX_EPOCH);
        }
    }
}
