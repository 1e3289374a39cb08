use serde_json::json;

use super::*;

const LOCK: &str = "version = 4\n\n[[package]]\nname = \"libm\"\nversion = \"0.2.0\"\nchecksum = \"00\"\n\n\
    [[package]]\nname = \"libm\"\nversion = \"0.2.1\"\nsource = \"registry\"\nchecksum = \"ff\"\n\n\
    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";

/// Returns metadata of a package `own` with a program. It depends on `seam` by path and on `libm`
/// from a registry. Its dependency `host` is not compiled for the GPU.
fn metadata() -> Value {
    let target =
        |kind: &str, path: &str| json!({ "kind": [kind], "name": "own-er", "src_path": path, "edition": "2024" });
    let dependency = |name: &str, kind: Value| json!({ "name": name, "kind": kind, "rename": null, "features": ["f"], "uses_default_features": true });
    let edge = |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind, "target": null }] });
    json!({
        "workspace_root": "/w", "target_directory": "/w/target",
        "packages": [
            {
                "id": "own#1", "name": "own", "version": "0.1.0", "source": null, "manifest_path": "/w/own/Cargo.toml",
                "targets": [
                    target("bin", "/w/own/src/main.rs"), target("lib", "/w/own/src/lib.rs"),
                    target("custom-build", "/w/own/build.rs"),
                ],
                "features": { "default": ["x"], "x": [] },
                "dependencies": [
                    dependency("seam", Value::Null), dependency("libm", Value::Null), dependency("host", Value::Null),
                    dependency("builder", json!("build")),
                ],
                "metadata": { "warpnest": { "host-only": ["src/host.rs"] } },
            },
            {
                "id": "seam#1", "name": "seam", "version": "0.1.0", "source": null, "manifest_path": "/s/Cargo.toml",
                "targets": [target("lib", "/s/lib.rs")], "features": {}, "dependencies": [], "metadata": null,
            },
            { "id": "libm#1", "name": "libm", "version": "0.2.1", "source": "registry+https://r" },
        ],
        "resolve": {
            "root": "own#1",
            "nodes": [
                {
                    "id": "own#1",
                    "deps": [edge("seam#1", Value::Null), edge("libm#1", Value::Null), edge("builder#1", json!("build"))],
                },
                { "id": "seam#1", "deps": [edge("libm#1", Value::Null)] },
                { "id": "libm#1", "deps": [] },
            ],
        },
    })
}

fn read(metadata: &Value) -> Result<Package> {
    Package::of_metadata("/w/own/Cargo.toml".into(), metadata, LOCK)
}

#[test]
fn what_is_compiled_for_the_gpu_is_found() {
    let package = read(&metadata()).unwrap();
    assert_eq!((package.name.as_str(), package.crate_name.as_str()), ("own", "own_er"));
    assert_eq!(package.folder(), Path::new("/w/own"));
    let names: Vec<_> = package.local.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["own", "seam"]);
    assert_eq!(package.fetched, BTreeSet::from([("libm 0.2.1".into(), "ff".into())]));
    let own = &package.local[0];
    assert_eq!(own.sources, Path::new("/w/own/src"));
    assert_eq!(own.host_only, [Path::new("/w/own/src/main.rs"), Path::new("/w/own/src/host.rs")]);
    assert_eq!(own.build_script.as_deref(), Some(Path::new("/w/own/build.rs")));
    assert_eq!(
        own.settings,
        "dependency libm null [\"f\"] true\ndependency seam null [\"f\"] true\nedition 2024\n\
         feature default [\"x\"]\nfeature x []"
    );
}

#[test]
fn a_package_without_a_checksum_is_known_by_its_source() {
    let mut metadata = metadata();
    metadata["packages"][2]["version"] = "0.3.0".into();
    metadata["packages"][2]["source"] = "git+https://g#abc".into();
    let package = read(&metadata).unwrap();
    assert_eq!(package.fetched, BTreeSet::from([("libm 0.3.0".into(), "git+https://g#abc".into())]));
}

#[test]
fn a_manifest_without_kernels_is_refused() {
    let mut virtual_manifest = metadata();
    virtual_manifest["resolve"]["root"] = Value::Null;
    assert!(matches!(read(&virtual_manifest), Err(Error::NoPackage { .. })));
    let mut program = metadata();
    program["packages"][0]["targets"].as_array_mut().unwrap().remove(1);
    assert!(matches!(read(&program), Err(Error::NoLibrary { package }) if package == "own"));
    for wrong in [json!("src/host.rs"), json!([1])] {
        let mut metadata = metadata();
        metadata["packages"][0]["metadata"]["warpnest"]["host-only"] = wrong;
        assert!(matches!(read(&metadata), Err(Error::HostOnly { .. })));
    }
    assert!(matches!(read(&json!({ "resolve": { "root": "own#1" } })), Err(Error::Answer { .. })));
}
