//! What a field is when it is not given. The schema carries the same values, so the API server fills them in.

/// The default of `replicas`: one.
pub fn replicas() -> i32 {
    1
}

/// The default of `image`.
pub fn image() -> String {
    "nginx:alpine".to_owned()
}

/// The default of `port`.
pub fn port() -> i32 {
    8080
}

/// The default of an operation's `timeout`: one hour.
pub fn timeout() -> String {
    "1h".to_owned()
}
