//! What only the PostgreSQL store promises: few statements, several nodes, lost connections.

mod commit;
mod feed;
mod lost;
mod meeting;
mod node;
mod proxy;
mod rows;
mod tls;
