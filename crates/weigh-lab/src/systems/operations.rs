//! A variant's operations as the SQL drivers take them.

use weigh_drivers::SqlOperation;

use crate::plan::ResolvedVariant;

/// In the order of the load's.
pub(crate) fn of(variant: &ResolvedVariant) -> Vec<SqlOperation> {
    variant
        .operations
        .iter()
        .map(|operation| SqlOperation {
            name: operation.name.clone(),
            sql: operation.sql.clone(),
            parameters: operation.parameters.len(),
            repeat: operation.repeat,
        })
        .collect()
}
