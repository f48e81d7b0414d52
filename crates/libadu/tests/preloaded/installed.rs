// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that are left out where what they need is not there; those of etalon-linux's kernel and of OTCP's agent include this file, too.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// A program of the system; without it the test is left out.
pub fn installed(program: &str, package: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").expect("a PATH") + ":/usr/local/sbin:/usr/sbin:/sbin";
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.exists());
    if found.is_none() {
        left_out(&format!("{program} is missing: apt-get install {package}"));
    }
    found
}

/// A test cannot run here. It fails where nothing may be missing: with `CI` or `ETALON_TEST_ALL` in the environment.
pub fn left_out(why: &str) {
    let everything = ["CI", "ETALON_TEST_ALL"].map(|name| std::env::var_os(name).is_some());
    assert_eq!(everything, [false; 2], "{why}");
    eprintln!("left out: {why}");
    // `make test` prints it last.
    let file = std::env::var_os("ETALON_LEFT_OUT");
    let mut options = OpenOptions::new();
    if let Some(Ok(mut file)) = file.map(|file| options.append(true).create(true).open(file)) {
        file.write_all(format!("{why}\n").as_bytes())
            .expect("written");
    }
}
