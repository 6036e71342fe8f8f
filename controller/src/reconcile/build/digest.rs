//! A hash that stays the same from one release to the next.

/// The FNV-1a hash of `bytes`, 64 bits as 16 hexadecimal digits.
///
/// It is no defence against an attacker, and needs to be none: who chooses a Task's content can only fool the hash of their own Task.
pub fn hex(bytes: &[u8]) -> String {
    format!("{:016x}", fnv_1a(bytes))
}

/// The FNV-1a hash of `bytes`, 64 bits.
///
/// It is written into objects and compared by later releases, which the standard library's hashers do
/// not promise to allow. It tells apart what differs by accident.
pub fn fnv_1a(bytes: &[u8]) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(OFFSET_BASIS, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(hex(b""), "cbf29ce484222325");
        assert_eq!(hex(b"a"), "af63dc4c8601ec8c");
        assert_eq!(hex(b"foobar"), "85944171f73967e8");
    }
}
