//! The private PostgreSQL that FerretDB keeps its data in, where it is asked to.
//!
//! Both are started by one shell, which then becomes FerretDB: one process tree in one cgroup, frozen, counted and ended
//! as one. The cluster lives in the instance's data directory and is copied with it; it listens at a unix socket only.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sys::signal::Signal;
use postgres::{Client, Config, NoTls};

use crate::host::{HostChanges, Tool, User, unprivileged_user};
use crate::systems::SystemError;
use crate::systems::postgres::Programs;
use crate::systems::private::{Home, Launch, Purpose};

/// The superuser, and the one database.
const USER: &str = "postgres";
const SOCKET: &str = ".s.PGSQL.5432";
/// Starts the one, waits until it says that it is ready (from PostgreSQL 10 on), and becomes the other.
const SCRIPT: &str = r#"
postgres=$1 data=$2 sockets=$3 fsync=$4
shift 4
"$postgres" -D "$data" -k "$sockets" -h '' -c max_connections=200 -c "fsync=$fsync" &
while ! grep -q '^ready' "$data/postmaster.pid" 2>/dev/null; do
    kill -0 $! 2>/dev/null || exit 1
    sleep 0.02
done
exec "$@"
"#;

/// PostgreSQL on this host.
pub(super) struct Cluster {
    programs: Programs,
    changes: Arc<HostChanges>,
    user: Option<User>,
}

impl Cluster {
    /// Of the version that is found first.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn find(changes: Arc<HostChanges>) -> Result<Cluster, SystemError> {
        Ok(Cluster { programs: Programs::find(None, None)?, changes, user: unprivileged_user()? })
    }

    /// `15.20`
    pub(super) fn version(&self) -> &str {
        &self.programs.version
    }

    /// How FerretDB finds it.
    pub(super) fn url_arguments(&self, home: &Home) -> [OsString; 2] {
        let sockets = home.dir.display().to_string().replace('/', "%2F");
        let url = format!("--postgresql-url=postgres://{USER}@/{USER}?host={sockets}");
        ["--handler=postgresql".into(), url.into()]
    }

    /// What starts both; the cluster is made first where there is none yet.
    ///
    /// # Errors
    /// With `initdb`'s last lines.
    pub(super) fn launch(
        &self,
        home: &Home,
        ferretdb: &Path,
        args: Vec<OsString>,
        purpose: Purpose,
    ) -> Result<Launch, SystemError> {
        let data = data(home);
        if !data.exists() {
            self.init(home, &data)?;
        }
        // Of a server that was killed, maybe the template's: nobody else starts one here.
        for leftover in
            [home.dir.join(SOCKET), home.dir.join(format!("{SOCKET}.lock")), data.join("postmaster.pid")]
        {
            fs::remove_file(leftover).ok();
        }
        let fsync = if purpose == Purpose::Template { "off" } else { "on" };
        let mut words: Vec<OsString> = vec!["-c".into(), SCRIPT.into(), "sh".into()];
        words.extend([self.programs.postgres().into_os_string(), data.into_os_string()]);
        words.extend([home.dir.clone().into_os_string(), fsync.into(), ferretdb.as_os_str().to_owned()]);
        words.extend(args);
        let program = PathBuf::from("/bin/sh");
        Ok(Launch { program, args: words, env: Vec::new(), polite_signal: Some(Signal::SIGQUIT) })
    }

    fn init(&self, home: &Home, data: &Path) -> Result<(), SystemError> {
        let mut args = vec!["-D".into(), data.as_os_str().to_owned()];
        args.extend(["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N"].map(Into::into));
        let (program, starts) = (self.programs.initdb(), [self.programs.postgres()]);
        let dir = home.data();
        let tool =
            Tool { program: &program, starts: &starts, args: &args, dir: &dir, user: self.user.as_ref() };
        tool.run(&self.changes)?;
        Ok(())
    }

    /// Writes everything into its files.
    ///
    /// # Errors
    /// In the server's words.
    pub(super) fn checkpoint(&self, home: &Home) -> Result<(), SystemError> {
        let failed = |error: postgres::Error| {
            SystemError::new("cannot checkpoint FerretDB's PostgreSQL").caused_by(error)
        };
        let mut client: Client = Config::new()
            .host_path(&home.dir)
            .port(5432)
            .user(USER)
            .dbname(USER)
            .connect(NoTls)
            .map_err(failed)?;
        client.batch_execute("CHECKPOINT").map_err(failed)
    }
}

/// The cluster of an instance.
fn data(home: &Home) -> PathBuf {
    home.data().join("pg")
}
