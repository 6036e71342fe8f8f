use standardwebhooks::Webhook;

use super::*;

const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const OTHER: &str = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";
const BODY: &[u8] = br#"{"status":"Succeeded"}"#;

fn secrets(scheme: Scheme, text: &str) -> Secrets {
    Secrets::parse(scheme, text).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// What is made of a message that was signed at 0 and arrives at `seconds`.
fn arrives(scheme: Scheme, seconds: i64, edit: impl FnOnce(&mut HeaderMap)) -> bool {
    let ours = secrets(scheme, SECRET);
    let mut headers = ours.sign("msg-1", BODY, at(0));
    edit(&mut headers);
    ours.verify(&headers, BODY, at(seconds)).is_ok()
}

#[test]
fn what_the_reference_library_signs_is_accepted_and_it_accepts_what_is_signed_here() {
    let theirs = Webhook::new(SECRET).unwrap();
    let now = Timestamp::now();
    let mut headers = HeaderMap::new();
    let signature = theirs.sign("msg-1", now.as_second(), BODY).unwrap();
    headers.insert(WEBHOOK_ID, HeaderValue::from_static("msg-1"));
    headers.insert(WEBHOOK_TIMESTAMP, now.as_second().into());
    headers.insert(WEBHOOK_SIGNATURE, signature.try_into().unwrap());
    let ours = secrets(Scheme::StandardWebhooks, SECRET);
    assert_eq!(ours.verify(&headers, BODY, now).as_deref(), Ok("msg-1"));
    theirs.verify(BODY, &ours.sign("msg-2", BODY, now)).unwrap();
}

#[test]
fn what_is_signed_is_accepted_by_each_scheme_and_another_body_by_none_that_signs_it() {
    for (scheme, signs_the_body) in [
        (Scheme::StandardWebhooks, true),
        (Scheme::HmacSha256, true),
        (Scheme::Bearer, false),
    ] {
        let ours = secrets(scheme, SECRET);
        let headers = ours.sign("msg-1", BODY, at(0));
        assert!(ours.verify(&headers, BODY, at(0)).is_ok(), "{scheme:?}");
        let other = ours.verify(&headers, b"{}", at(0));
        assert_eq!(other.is_err(), signs_the_body, "{scheme:?}");
        let stranger = secrets(scheme, OTHER);
        assert_eq!(stranger.verify(&headers, BODY, at(0)), Err(Unproved));
    }
}

#[test]
fn a_message_is_good_for_five_minutes_before_and_after_its_time() {
    for (seconds, is_good) in [
        (0, true),
        (300, true),
        (-300, true),
        (301, false),
        (-301, false),
    ] {
        let arrived = arrives(Scheme::StandardWebhooks, seconds, |_| {});
        assert_eq!(arrived, is_good, "{seconds} s");
    }
}

#[test]
fn a_header_that_is_missing_or_changed_proves_nothing() {
    for (scheme, names) in [
        (
            Scheme::StandardWebhooks,
            &[WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE][..],
        ),
        (Scheme::HmacSha256, &[X_SIGNATURE]),
        (Scheme::Bearer, &[AUTHORIZATION]),
    ] {
        for name in names {
            let missing = |headers: &mut HeaderMap| drop(headers.remove(name));
            assert!(!arrives(scheme, 0, missing), "{name}");
            for value in ["", "v1,", "sha256=", "sha256=0", "Bearer ", "1", "\u{e9}"] {
                let changed = |headers: &mut HeaderMap| {
                    headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
                };
                assert!(!arrives(scheme, 0, changed), "{name}: {value}");
            }
        }
    }
}

#[test]
fn the_secret_before_is_good_while_it_is_in_the_text_and_a_third_is_too_many() {
    let both = format!("{OTHER}\n{SECRET}\n\n");
    for scheme in [Scheme::StandardWebhooks, Scheme::HmacSha256, Scheme::Bearer] {
        let rotating = secrets(scheme, &both);
        for of_one in [SECRET, OTHER] {
            let headers = secrets(scheme, of_one).sign("msg-1", BODY, at(0));
            assert!(rotating.verify(&headers, BODY, at(0)).is_ok());
        }
        let headers = rotating.sign("msg-1", BODY, at(0));
        assert!(secrets(scheme, OTHER).verify(&headers, BODY, at(0)).is_ok());
    }
    let three = Secrets::parse(Scheme::Bearer, &format!("{both}{SECRET}"));
    assert_eq!(three.err(), Some(BadSecret::TooMany));
}

#[test]
fn a_message_that_brings_no_id_has_that_of_its_body() {
    let ours = secrets(Scheme::HmacSha256, SECRET);
    let id = |body: &[u8]| {
        let headers = ours.sign("", body, at(0));
        ours.verify(&headers, body, at(0)).unwrap()
    };
    assert_eq!(id(BODY), id(BODY));
    assert_ne!(id(BODY), id(b"{}"));
}

#[test]
fn a_good_signature_is_found_among_whatever_others() {
    let good = secrets(Scheme::StandardWebhooks, SECRET).sign("msg-1", BODY, at(0));
    let good = good[WEBHOOK_SIGNATURE].to_str().unwrap().to_owned();
    for others in ["v1,AAAA ", "v1,? ", "v1a,AAAA ", " "] {
        let others = others.repeat(100);
        for (given, is_good) in [(format!("{others}{good}"), true), (others, false)] {
            let arrived = arrives(Scheme::StandardWebhooks, 0, |headers| {
                headers.insert(WEBHOOK_SIGNATURE, given.clone().try_into().unwrap());
            });
            assert_eq!(arrived, is_good, "{given}");
        }
    }
}

#[test]
fn a_text_without_a_good_secret_is_refused_with_its_line() {
    let refused = |scheme, text| Secrets::parse(scheme, text).err();
    for scheme in [Scheme::StandardWebhooks, Scheme::Bearer] {
        assert_eq!(refused(scheme, "\n \n"), Some(BadSecret::None));
        let short = Some(BadSecret::TooShort { line: 2 });
        assert_eq!(refused(scheme, "\nc2hvcnQ="), short);
    }
    let no_base64 = Some(BadSecret::NotBase64 { line: 1 });
    assert_eq!(refused(Scheme::StandardWebhooks, "whsec_?"), no_base64);
}

#[test]
fn a_secret_is_not_printed() {
    let printed = format!("{:?}", secrets(Scheme::Bearer, SECRET));
    assert!(
        !printed.contains("MDEy") && !printed.contains("48, 49"),
        "{printed}"
    );
}
