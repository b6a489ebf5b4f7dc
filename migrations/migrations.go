// Package migrations embeds the SQL that brings a database from one schema
// version to the next. File NNNN_name.sql makes version NNNN; store applies
// those that a database lacks in order, in one transaction. A landed file never
// changes.
package migrations

import "embed"

// FS holds the *.sql files.
//
//go:embed *.sql
var FS embed.FS
