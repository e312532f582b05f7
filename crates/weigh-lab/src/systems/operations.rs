//! Operations as the drivers take them.

use weigh_drivers::http::{HttpExpect, HttpOperation};
use weigh_drivers::{CommandOperation, SqlOperation};

use crate::plan::{ResolvedOperation, ResolvedText, ResolvedVariant};

/// A variant's operations for the SQL drivers, in the order of the load's.
pub(crate) fn of(variant: &ResolvedVariant) -> Vec<SqlOperation> {
    sql(&variant.operations)
}

/// For the SQL drivers.
pub(crate) fn sql(operations: &[ResolvedOperation]) -> Vec<SqlOperation> {
    let one = |operation: &ResolvedOperation| SqlOperation {
        name: operation.name.clone(),
        sql: operation.text.statements().to_vec(),
        parameters: operation.parameters.len(),
        repeat: operation.repeat,
    };
    operations.iter().map(one).collect()
}

/// For the drivers of key-value and document stores.
pub(crate) fn commands(operations: &[ResolvedOperation]) -> Vec<CommandOperation> {
    let one = |operation: &ResolvedOperation| {
        let common = CommandOperation {
            name: operation.name.clone(),
            parameters: operation.parameters.len(),
            rows: 1,
            ..CommandOperation::default()
        };
        match &operation.text {
            ResolvedText::Command(text) => CommandOperation {
                command: text.command.clone(),
                rows: text.rows,
                expect: text.expect.clone(),
                ..common
            },
            // The experiment's check has refused these; an empty command is refused by every driver.
            ResolvedText::Sql(_) | ResolvedText::Request(_) => common,
        }
    };
    operations.iter().map(one).collect()
}

/// For the HTTP driver.
pub(crate) fn requests(operations: &[ResolvedOperation]) -> Vec<HttpOperation> {
    let one = |operation: &ResolvedOperation| {
        let ResolvedText::Request(request) = &operation.text else {
            // The experiment's check has refused these; a request without a method is refused by the driver.
            return HttpOperation::new(&operation.name, "", "");
        };
        HttpOperation {
            headers: request.headers.clone(),
            body: request.body.clone(),
            parameters: operation.parameters.len(),
            expect: HttpExpect {
                status: request.status.unwrap_or_default(),
                body: request.expect_body.clone(),
                body_length: request.expect_length,
            },
            ..HttpOperation::new(&operation.name, &request.method, &request.target)
        }
    };
    operations.iter().map(one).collect()
}
