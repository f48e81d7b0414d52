// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of this folder in one program: it links once, and its files share what they instantiate.
mod circuits;
mod net;
mod networks;
mod notify;
mod order;
mod outside;

#[test]
fn every_file_of_this_folder_is_a_module_here() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let is_module = path.extension().is_some_and(|e| e == "rs") && stem != "main";
        if is_module || path.join("mod.rs").exists() || path.join("main.rs").exists() {
            let line = format!("\nmod {stem};\n");
            assert!(
                include_str!("main.rs").contains(&line),
                "{}",
                path.display()
            );
        }
    }
}
