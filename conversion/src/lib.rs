//! Conversion of Task between its versions.
