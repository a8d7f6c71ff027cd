//! Registers routes with their permission, in the router and in the OpenAPI document.

use axum::middleware;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::query_guard::{DeclaredQuery, check_query};
use crate::app::App;
use crate::auth::{Permission, require_permission, require_permission_or_public};
use crate::background;
use crate::problem::PROBLEM_JSON;

/// The extension that names the permission of an operation.
pub(crate) const PERMISSION_EXTENSION: &str = "x-required-permission";

/// Routes with their permissions.
pub(crate) struct Routes(OpenApiRouter<App>);

impl Routes {
    pub(crate) fn new() -> Self {
        Self(OpenApiRouter::new())
    }

    /// Adds the operations of one path that need the same permission.
    pub(crate) fn add(self, permission: Permission, routes: UtoipaMethodRouter<App>) -> Self {
        let (schemas, mut paths, method_router) = routes;
        for item in paths.paths.values_mut() {
            operations(item).for_each(|operation| describe(operation, permission));
        }
        let declared = DeclaredQuery::of(&paths);
        let query =
            middleware::from_fn(move |request, next| check_query(declared.clone(), request, next));
        let guard =
            middleware::from_fn(move |request, next| require_permission(permission, request, next));
        let method_router = method_router.layer(query);
        Self(self.0.routes((schemas, paths, method_router.layer(guard))))
    }

    /// Like [`Self::add`], for operations that may take long: they run on the background pool.
    pub(crate) fn add_long(self, permission: Permission, routes: UtoipaMethodRouter<App>) -> Self {
        let (schemas, paths, method_router) = routes;
        let method_router = method_router.layer(middleware::from_fn(background::run_in_background));
        self.add(permission, (schemas, paths, method_router))
    }

    /// Like [`Self::add`], for the API of journeys: public journeys need no permission.
    /// `auth/surface.rs` knows the target of such a route.
    pub(crate) fn add_public(
        self,
        permission: Permission,
        routes: UtoipaMethodRouter<App>,
    ) -> Self {
        let (schemas, mut paths, method_router) = routes;
        for item in paths.paths.values_mut() {
            for operation in operations(item) {
                describe(operation, permission);
                // The empty requirement marks credentials as optional.
                operation.security.get_or_insert_default().push(SecurityRequirement::default());
            }
        }
        let declared = DeclaredQuery::of(&paths);
        let query =
            middleware::from_fn(move |request, next| check_query(declared.clone(), request, next));
        let guard = middleware::from_fn(move |request, next| {
            require_permission_or_public(permission, request, next)
        });
        let method_router = method_router.layer(query);
        Self(self.0.routes((schemas, paths, method_router.layer(guard))))
    }

    /// Adds all routes of another list.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self(self.0.merge(other.0))
    }

    pub(crate) fn into_router(self) -> OpenApiRouter<App> {
        self.0
    }
}

/// The operations of a path.
pub(crate) fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete]
        .into_iter()
        .filter_map(Option::as_mut)
}

/// Adds the permission, the security schemes and the error response to an operation.
fn describe(operation: &mut Operation, permission: Permission) {
    let extension = ExtensionsBuilder::new().add(PERMISSION_EXTENSION, permission.name()).build();
    operation.extensions.get_or_insert_default().merge(extension);
    for scheme in ["bearer", "operatorKey"] {
        let scheme = SecurityRequirement::new(scheme, Vec::<String>::new());
        operation.security.get_or_insert_default().push(scheme);
    }
    let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let refused = ResponseBuilder::new()
        .description("Rejected; `code` says why")
        .content(PROBLEM_JSON, problem)
        .build();
    operation.responses.responses.insert("default".to_owned(), refused.into());
}
