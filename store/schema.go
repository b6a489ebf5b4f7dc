package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"agentrec/migrations"
)

// applicationID marks a database as ours in its header ("agrc").
const applicationID = 0x61677263

// What a database can turn out to be instead of a recording of this version.
var (
	errForeign = errors.New("database of another application")
	errNewer   = errors.New("newer schema version")
	errNew     = errors.New("no schema yet")
	errSchema  = errors.New("unknown schema")
)

// migrationFiles returns the migrations in order; the n-th, counted from 1,
// makes version n.
func migrationFiles() ([]string, error) {
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for i, name := range names {
		if !strings.HasPrefix(name, fmt.Sprintf("%04d_", i+1)) {
			return nil, fmt.Errorf("migration %s is not number %d", name, i+1)
		}
	}
	return names, nil
}

// queryer is a connection, a pool or a transaction.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// version reads whose database it is and which version. A database without
// anything in it is version 0.
func version(ctx context.Context, q queryer) (int, error) {
	var app, ver, things int
	err := q.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).Scan(&app, &ver, &things)
	switch {
	case err != nil:
		return 0, err
	case app == 0 && ver == 0 && things == 0:
		return 0, nil
	case app != applicationID || ver < 1:
		return 0, errForeign
	}
	return ver, nil
}

// migrate brings the database to the current version, each step in one
// immediate transaction that looks at the version again, for several processes
// may do this at once.
func migrate(ctx context.Context, pool *sql.DB) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	for {
		have, err := version(ctx, pool)
		switch {
		case err != nil:
			return err
		case have > len(files):
			return errNewer
		case have == len(files):
			return identify(ctx, pool)
		}
		if err := step(ctx, pool, have, files[have]); err != nil {
			return fmt.Errorf("bringing the schema to version %d: %w", have+1, err)
		}
	}
}

// step applies file to a database of version have.
func step(ctx context.Context, pool *sql.DB, have int, file string) error {
	text, err := migrations.FS.ReadFile(file)
	if err != nil {
		return err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	now, err := version(ctx, tx)
	if err != nil || now != have {
		return err // another process was faster
	}
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return err
	}
	if have == 0 {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('secret', ?)", newSecret()); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", have+1)); err != nil {
		return err
	}
	return tx.Commit()
}

// identify sees that the database is ours and has exactly the tables of its
// version, which may be an older one: a file from elsewhere could hold triggers
// and views that do harm.
func identify(ctx context.Context, q queryer) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	have, err := version(ctx, q)
	switch {
	case err != nil:
		return err
	case have > len(files):
		return errNewer
	case have == 0:
		return errNew
	}
	want, err := ourSchemas()
	if err != nil {
		return err
	}
	got, err := schema(ctx, q)
	if err != nil {
		return err
	}
	if !slices.Equal(got, want[have-1]) {
		if now, err := version(ctx, q); err == nil && now != have {
			return identify(ctx, q) // another process migrated it meanwhile
		}
		return errSchema
	}
	return nil
}

// ourSchemas are what the migrations make, version by version from 1, never
// changing while we run.
var ourSchemas = sync.OnceValues(func() ([][]string, error) {
	ctx := context.Background()
	files, err := migrationFiles()
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector("", "MEMORY", ""))
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	var list [][]string
	for i, file := range files {
		if err := step(ctx, pool, i, file); err != nil {
			return nil, err
		}
		made, err := schema(ctx, pool)
		if err != nil {
			return nil, err
		}
		list = append(list, made)
	}
	return list, nil
})

// schema lists what the database declares, less the statistics that SQLite
// tools may add.
func schema(ctx context.Context, q queryer) ([]string, error) {
	rows, err := q.QueryContext(ctx, `SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '')
		FROM sqlite_schema WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4')) ORDER BY 1 LIMIT 100`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}
