//! The grammar of JSON (RFC 8259) as functions from one position in a text to the next.
//!
//! They hold their position in a local variable and copy nothing, which is what makes a value that nobody opens cost one look at each
//! byte.

/// What the grammar asks for where reading stopped, and where that is.
pub(super) type Stopped = (usize, &'static str);

/// The byte at a position, or 0 at the end of the text and beyond: no value, and no part of one, begins with it.
#[inline(always)]
pub(super) fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The first position from `at` on that is no white space.
#[inline(always)]
pub(super) fn space(text: &[u8], at: usize) -> usize {
    // What the API server sends has none.
    if byte(text, at) > b' ' {
        at
    } else {
        long_space(text, at)
    }
}

#[cold]
fn long_space(text: &[u8], mut at: usize) -> usize {
    while matches!(byte(text, at), b' ' | b'\n' | b'\r' | b'\t') {
        at += 1;
    }
    at
}

/// The end of the value at `at`, where no white space stands. Containers may nest `depth` deep; those around what is read are kept in
/// `outer` and not on the call stack, since depth is the sender's choice. `outer` must be empty, and is not after an error.
///
/// # Errors
/// When no well-formed value stands there.
pub(super) fn value(
    text: &[u8],
    mut at: usize,
    depth: usize,
    outer: &mut Vec<u8>,
) -> Result<usize, Stopped> {
    // What closes the container that is being read; 0 for none.
    let mut close = 0;
    loop {
        match byte(text, at) {
            b'"' => at = string(text, at + 1)?.end,
            open @ (b'{' | b'[') => {
                at += 1;
                if outer.len() >= depth {
                    return Err((at, "fewer levels of nesting"));
                }
                at = space(text, at);
                // In ASCII, each bracket closes the one two places before it.
                if byte(text, at) == open + 2 {
                    at += 1;
                } else {
                    outer.push(close);
                    close = open + 2;
                    if close == b'}' {
                        at = key(text, at)?.1;
                    }
                    at = space(text, at);
                    continue;
                }
            }
            b'-' | b'0'..=b'9' => at = number(text, at)?,
            b't' => at = literal(text, at, "true")?,
            b'f' => at = literal(text, at, "false")?,
            b'n' => at = literal(text, at, "null")?,
            _ => return Err((at, "a value")),
        }
        // A value is complete: so may be any number of containers around it.
        loop {
            if close == 0 {
                return Ok(at);
            }
            at = space(text, at);
            match byte(text, at) {
                b',' => {
                    at = space(text, at + 1);
                    if close == b'}' {
                        at = key(text, at)?.1;
                        at = space(text, at);
                    }
                    break;
                }
                byte if byte == close => {
                    at += 1;
                    close = outer.pop().unwrap_or(0);
                }
                _ if close == b'}' => return Err((at, "',' or '}'")),
                _ => return Err((at, "',' or ']'")),
            }
        }
    }
}

/// Where a string ends, and whether it has escapes.
#[derive(Clone, Copy)]
pub(super) struct StringEnd {
    /// The position behind the closing quote.
    pub(super) end: usize,
    pub(super) escaped: bool,
}

/// Reads a key and its colon: the end of the key, and the position behind the colon.
#[inline(always)]
pub(super) fn key(text: &[u8], at: usize) -> Result<(StringEnd, usize), Stopped> {
    if byte(text, at) != b'"' {
        return Err((at, "a key in quotes"));
    }
    let string = string(text, at + 1)?;
    let at = space(text, string.end);
    if byte(text, at) != b':' {
        return Err((at, "':'"));
    }
    Ok((string, at + 1))
}

/// Reads the string whose opening quote stands before `at`.
#[inline(always)]
fn string(text: &[u8], at: usize) -> Result<StringEnd, Stopped> {
    let at = plain_until(text, at);
    if byte(text, at) == b'"' {
        return Ok(StringEnd {
            end: at + 1,
            escaped: false,
        });
    }
    escaped_string(text, at)
}

/// Reads the rest of a string from its first escape on.
#[cold]
fn escaped_string(text: &[u8], mut at: usize) -> Result<StringEnd, Stopped> {
    loop {
        match byte(text, at) {
            b'"' => {
                return Ok(StringEnd {
                    end: at + 1,
                    escaped: true,
                });
            }
            b'\\' => at = plain_until(text, escape(text, at)?),
            _ => {
                return Err((at, "the rest of a string, with control characters escaped"));
            }
        }
    }
}

fn escape(text: &[u8], mut at: usize) -> Result<usize, Stopped> {
    at += 1;
    match byte(text, at) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 1),
        b'u' => {
            for _ in 0..4 {
                at += 1;
                if !byte(text, at).is_ascii_hexdigit() {
                    return Err((at, "four hexadecimal digits"));
                }
            }
            Ok(at + 1)
        }
        _ => Err((at, "a valid escape")),
    }
}

fn literal(text: &[u8], at: usize, word: &'static str) -> Result<usize, Stopped> {
    let end = at + word.len();
    if text.get(at..end) == Some(word.as_bytes()) {
        Ok(end)
    } else {
        Err((at, word))
    }
}

fn digits(text: &[u8], mut at: usize) -> Result<usize, Stopped> {
    if !byte(text, at).is_ascii_digit() {
        return Err((at, "a digit"));
    }
    while byte(text, at).is_ascii_digit() {
        at += 1;
    }
    Ok(at)
}

fn number(text: &[u8], start: usize) -> Result<usize, Stopped> {
    let mut at = start;
    let mut plain = true;
    if byte(text, at) == b'-' {
        at += 1;
    }
    at = match byte(text, at) {
        b'0' => at + 1,
        _ => digits(text, at)?,
    };
    if byte(text, at) == b'.' {
        at = digits(text, at + 1)?;
    }
    if matches!(byte(text, at), b'e' | b'E') {
        plain = false;
        at += 1;
        if matches!(byte(text, at), b'+' | b'-') {
            at += 1;
        }
        at = digits(text, at)?;
    }
    // Without an exponent, 300 digits are needed to leave the range of a double.
    if (!plain || at - start > 300) && !is_finite(&text[start..at]) {
        return Err((start, "a number within the range of a double"));
    }
    Ok(at)
}

fn is_finite(number: &[u8]) -> bool {
    let number = str::from_utf8(number)
        .ok()
        .and_then(|text| text.parse().ok());
    number.is_some_and(f64::is_finite)
}

/// The position of the first byte from `at` on that is no plain part of a string (a quote, a backslash, a control character), or
/// the end. Looks at eight bytes at a time.
#[inline(always)]
pub(super) fn plain_until(text: &[u8], at: usize) -> usize {
    let mut rest = text.get(at..).unwrap_or_default();
    while let Some((chunk, after)) = rest.split_first_chunk() {
        let marks = special(chunk);
        if marks != 0 {
            return text.len() - rest.len() + marks.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    let is_plain = |&&byte: &&u8| byte != b'"' && byte != b'\\' && byte >= 0x20;
    text.len() - rest.len() + rest.iter().take_while(is_plain).count()
}

/// Marks the first byte that is no plain part of a string: its index is the number of trailing zeros, divided by eight.
#[inline(always)]
fn special(chunk: &[u8; 8]) -> u64 {
    const fn all(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    // The lowest high bit marks the first byte below the limit; borrows can only set false marks above it.
    let below = |word: u64, limit: u8| word.wrapping_sub(all(limit)) & !word;
    let word = u64::from_le_bytes(*chunk);
    // This takes the quote to where the space was, next to the control characters, which stay among themselves.
    let quote_or_control = below(word ^ all(b'"' ^ b' '), b' ' + 1);
    let backslash = below(word ^ all(b'\\'), 1);
    (quote_or_control | backslash) & all(0x80)
}
