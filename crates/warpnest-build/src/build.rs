//! The build of a package, with its options and the writing of its modules.

use std::fs;
use std::path::{Path, PathBuf, absolute};

use crate::compiler::{self, Compiler};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::package::Package;
use crate::report::{Assembled, Built, Module, Progress, Report};
use crate::target::{TRIPLE, Target};
use crate::{compile, digest, merge, ptxas};

/// The default for the command that builds the PTX.
const COMMAND: &str = "cargo warpnest build-ptx";

/// The comment in the PTX of an entry point whose kernel was requested by name.
const KERNEL: &str = "//@kernel ";

/// A build of a package's kernels.
///
/// ```no_run
/// use warpnest_build::Build;
///
/// let report = Build::new("kernels/Cargo.toml")?.run()?;
/// println!("{report}");
/// # Ok::<(), warpnest_build::Error>(())
/// ```
pub struct Build {
    pub(crate) package: Package,
    targets: Vec<Target>,
    output: PathBuf,
    stem: String,
    work: PathBuf,
    command: String,
    kernels: Vec<String>,
    ptxas: Option<PathBuf>,
    progress: Box<dyn Fn(Progress)>,
}

impl Build {
    /// Prepares a build of the package with this manifest, a `Cargo.toml`.
    ///
    /// # Errors
    /// Fails if cargo cannot read the manifest, or if it has no package with a library.
    pub fn new(manifest: impl AsRef<Path>) -> Result<Build> {
        let package = Package::read(manifest.as_ref())?;
        Ok(Build {
            targets: Target::defaults(),
            output: package.folder().join("ptx"),
            stem: package.crate_name.clone(),
            work: package.target_dir.join("ptx-build"),
            command: COMMAND.into(),
            kernels: Vec::new(),
            ptxas: None,
            progress: Box::new(|_| ()),
            package,
        })
    }

    /// Prepares a build for a build script. Its files and cargo's work go to the script's folder
    /// `OUT_DIR`.
    ///
    /// Returns `None` if the script itself runs during a build of PTX, which happens if it belongs
    /// to the package of the kernels. Then there is nothing to do.
    ///
    /// # Errors
    /// As for [`new`](Build::new).
    pub fn in_build_script(manifest: impl AsRef<Path>) -> Result<Option<Build>> {
        if std::env::var_os("TARGET").is_some_and(|target| target == TRIPLE) {
            return Ok(None);
        }
        let build = Build::new(manifest)?;
        let out = std::env::var_os("OUT_DIR").map_or_else(|| build.work.clone(), PathBuf::from);
        Ok(Some(build.output(&out).work_dir(out.join("ptx-build"))))
    }

    /// Sets the targets. The default is [`Target::defaults`], which are `warpnest`'s targets.
    pub fn targets(mut self, targets: impl IntoIterator<Item = Target>) -> Build {
        self.targets = targets.into_iter().collect();
        self
    }

    /// Sets the folder of the PTX. The default is `ptx` in the package's folder.
    pub fn output(mut self, folder: impl AsRef<Path>) -> Build {
        self.output = folder.as_ref().to_owned();
        self
    }

    /// Sets the beginning of the files' names, such as `kernels` in `kernels_sm90.ptx`. The default
    /// is the name of the crate.
    pub fn file_stem(mut self, stem: &str) -> Build {
        self.stem = stem.into();
        self
    }

    /// Sets the folder of cargo's work. The default is `ptx-build` in cargo's target folder.
    pub fn work_dir(mut self, folder: impl AsRef<Path>) -> Build {
        self.work = folder.as_ref().to_owned();
        self
    }

    /// Sets the command that headers and errors tell the reader to run. The default is `cargo
    /// warpnest build-ptx`.
    pub fn command(mut self, command: &str) -> Build {
        self.command = command.into();
        self
    }

    /// Makes the build compile only these kernels, by the names of their structs. The default is
    /// all.
    ///
    /// Their entry points replace the older ones in the files. For a large package this takes only
    /// seconds. The result is for trying a change: its header has no digest, so checks refuse it
    /// ([`Error::Stale`]) until all kernels are built again.
    pub fn kernels<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Build {
        self.kernels = names.into_iter().map(Into::into).collect();
        self
    }

    /// Makes the build assemble each module with a ptxas, such as [`ptxas::find`] returns, before
    /// anything is written. If ptxas refuses a kernel, the build fails.
    pub fn assemble_with(mut self, ptxas: impl Into<PathBuf>) -> Build {
        self.ptxas = Some(ptxas.into());
        self
    }

    /// Makes the build call a function when a stage begins.
    pub fn on_progress(mut self, tell: impl Fn(Progress) + 'static) -> Build {
        self.progress = Box::new(tell);
        self
    }

    /// Returns cargo's target folder for the package. [`ptxas::find`] takes it as an argument.
    pub fn target_dir(&self) -> &Path {
        &self.package.target_dir
    }

    /// Returns the modules that [`run`](Build::run) writes, in the order of the targets.
    pub fn modules(&self) -> Vec<Module> {
        let path = |target: &Target| self.output.join(format!("{}{}", self.stem, target.file_suffix()));
        self.targets.iter().map(|target| Module { path: path(target), target: target.clone() }).collect()
    }

    /// Compiles the package for each target, lints the PTX, and writes either all modules or none.
    ///
    /// # Errors
    /// Fails if there is no compiler ([`Error::NoCompiler`]), cargo fails ([`Error::Failed`], with
    /// cargo's output), the PTX has findings ([`Error::Lint`]) or cannot be assembled. In these
    /// cases no file is changed.
    /// has changed.
    pub fn run(&self) -> Result<Report> {
        let modules = self.modules();
        self.check_targets()?;
        let compiler = compiler::find()?;
        let files = modules.iter().map(Module::file_name).collect();
        (self.progress)(Progress::Compiling { compiler: compiler.clone(), files });
        let texts = self.compile(&modules, &compiler)?;
        self.lint(modules.iter().zip(&texts))?;
        let assembled = modules.iter().map(|module| self.assemble(module)).collect::<Result<Vec<_>>>()?;
        let written = write_all(&modules, &texts)?;
        let with_text = modules.into_iter().zip(&texts).zip(written).zip(assembled);
        let modules = with_text.map(|(((module, text), written), assembled)| {
            let kernels = text.matches(".entry ").count();
            Built { module, written, kernels, bytes: text.len(), assembled }
        });
        let modules = modules.collect();
        Ok(Report { compiler, modules, sources: digest::sources(&self.package) })
    }

    /// Compiles all modules in parallel, because one compilation uses only one core. Returns the
    /// text of each file.
    pub(crate) fn compile(&self, modules: &[Module], compiler: &Compiler) -> Result<Vec<String>> {
        let work = self.work()?;
        let (package, kernels, work) = (&self.package, self.kernels.as_slice(), work.as_path());
        let ptx: Vec<String> = std::thread::scope(|scope| {
            let build = |module| move || compile::compile(package, module, kernels, compiler, work);
            let builds: Vec<_> = modules.iter().map(|module| scope.spawn(build(&module.target))).collect();
            let ended = builds.into_iter().map(|build| match build.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.collect::<Result<_>>()
        })?;
        modules.iter().zip(ptx).map(|(module, ptx)| self.file(module, &ptx, compiler)).collect()
    }

    /// Returns the text of a module's file, given the PTX of the kernels that were compiled.
    fn file(&self, module: &Module, ptx: &str, compiler: &Compiler) -> Result<String> {
        let header = self.header(&module.target, compiler)?;
        if self.kernels.is_empty() {
            return Ok(header.render() + ptx);
        }
        let is_there = |name: &str| ptx.lines().any(|line| line.strip_prefix(KERNEL) == Some(name));
        if let Some(name) = self.kernels.iter().find(|name| !is_there(name)) {
            return Err(Error::NoKernel { name: name.clone() });
        }
        let digest = format!("none, since these kernels alone were built again: {}", self.kernels.join(" "));
        let (whole, old) = module.committed()?;
        let body = whole.strip_prefix(&old.render()).unwrap_or(&whole);
        Ok(Header { digest, ..header }.render() + &merge::merge(body, ptx))
    }

    fn header(&self, target: &Target, compiler: &Compiler) -> Result<Header> {
        Ok(Header {
            command: self.command.clone(),
            package: self.package.name.clone(),
            digest: self.digest(target)?,
            compiler: compiler.version.line.clone(),
            flags: target.flags().join(" "),
        })
    }

    pub(crate) fn digest(&self, target: &Target) -> Result<String> {
        digest::of_package(&self.package, target)
    }

    /// Fails with all findings in the modules' texts, if there are any.
    pub(crate) fn lint<'m>(&self, texts: impl Iterator<Item = (&'m Module, &'m String)>) -> Result<()> {
        let of_module = |(module, text): (&Module, &String)| {
            let findings = ptx_tools::lint(text).into_iter();
            findings.map(|finding| format!("{}: {finding}", module.file_name())).collect::<Vec<_>>()
        };
        let findings: Vec<String> = texts.flat_map(of_module).collect();
        if findings.is_empty() { Ok(()) } else { Err(Error::Lint { findings }) }
    }

    fn assemble(&self, module: &Module) -> Result<Option<Assembled>> {
        let Some(ptxas) = &self.ptxas else { return Ok(None) };
        (self.progress)(Progress::Assembling { file: module.file_name() });
        let file = compile::work_file(&self.package, &module.target, &self.work()?);
        let (usage, warnings) = ptxas::assemble(ptxas, module.target.cpu(), &file)?;
        Ok(Some(Assembled { usage, warnings }))
    }

    /// Returns the absolute path of the folder of cargo's work, because cargo runs in another
    /// folder.
    fn work(&self) -> Result<PathBuf> {
        absolute(&self.work).map_err(Error::io("find", &self.work))
    }

    pub(crate) fn check_targets(&self) -> Result<()> {
        let mut cpus: Vec<&str> = self.targets.iter().map(Target::cpu).collect();
        cpus.sort_unstable();
        if cpus.is_empty() || cpus.windows(2).any(|two| two[0] == two[1]) { Err(Error::Targets) } else { Ok(()) }
    }

    pub(crate) fn command_line(&self) -> &str {
        &self.command
    }
}

/// Writes the modules whose text has changed, and returns for each module whether it was written.
/// No file is changed before all new texts are on disk.
fn write_all(modules: &[Module], texts: &[String]) -> Result<Vec<bool>> {
    let mut written = Vec::new();
    // The new texts go to other files first, so a full disk is noticed before an old file is
    // replaced.
    let new = |path: &Path| path.with_extension("ptx.new");
    let mut write = || {
        for (Module { path, .. }, text) in modules.iter().zip(texts) {
            let differs = !fs::read_to_string(path).is_ok_and(|old| old == *text);
            if differs {
                let (folder, new) = (path.parent().unwrap_or(path), new(path));
                fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
                fs::write(&new, text).map_err(Error::io("write", &new))?;
            }
            written.push(differs);
        }
        Ok(())
    };
    if let Err(error) = write() {
        modules.iter().for_each(|Module { path, .. }| _ = fs::remove_file(new(path)));
        return Err(error);
    }
    for (Module { path, .. }, _) in modules.iter().zip(&written).filter(|&(_, &written)| written) {
        fs::rename(new(path), path).map_err(Error::io("write", path))?;
    }
    Ok(written)
}
