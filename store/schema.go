package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

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

// migrate brings the database to the current version in one immediate
// transaction that looks at the version again, for several processes may do this
// at once.
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
		if err := step(ctx, pool, have, files[have:]); err != nil {
			return fmt.Errorf("bringing the schema to version %d: %w", len(files), err)
		}
	}
}

// step applies files to a database of version have.
func step(ctx context.Context, pool *sql.DB, have int, files []string) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	now, err := version(ctx, tx)
	if err != nil || now != have {
		return err // another process was faster
	}
	for _, file := range files {
		text, err := migrations.FS.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return err
		}
	}
	if have == 0 {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('secret', ?)", newSecret()); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", have+len(files))); err != nil {
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
	got, err := schema(ctx, q)
	if err != nil {
		return err
	}
	if schemaSum(got) != schemaSums[have-1] {
		if now, err := version(ctx, q); err == nil && now != have {
			return identify(ctx, q) // another process migrated it meanwhile
		}
		return errSchema
	}
	return nil
}

// schemaSums are what the migrations make, version by version from 1, never
// changing: the sums of what schema lists. To make them for every opening would
// take longer than all the rest of it. TestSchemaSums holds them to the
// migrations, and says what the sum of a new one is.
var schemaSums = []string{
	"6344fecf36a85484635ce60142ad662579527f1964d337428f05e4b7350b2833",
	"7dac3b4e7edb7959b109e3dd7575ed210e4ec3acba42926ff3078260110b2dde",
	"15d6f7dfff8760394ce8b537b517144695b4cc41620ce74f10f490581a83d50b",
}

func schemaSum(list []string) string {
	text := strings.ReplaceAll(strings.Join(list, "\x00"), "\r", "") // as Git may check the migrations out
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

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
