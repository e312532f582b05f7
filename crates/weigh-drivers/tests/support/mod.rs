//! What the tests and the benchmark share.

pub mod cluster;
pub mod delaying;
pub mod ferretdb;
pub mod httpd;
pub mod kept;
pub mod keyvalue;
pub mod load;
pub mod memcached;
pub mod nginx;
pub mod processes;
pub mod redis;
pub mod subjects;
pub mod tls;
