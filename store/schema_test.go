package store

import (
	"database/sql"
	"testing"
)

// The sums of the schemas are those of what the migrations make.
func TestSchemaSums(t *testing.T) {
	files, err := migrationFiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(schemaSums) {
		t.Errorf("there are %d migrations and %d sums in schemaSums", len(files), len(schemaSums))
	}
	pool := sql.OpenDB(connector("", "MEMORY", ""))
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	for i, file := range files {
		if err := step(t.Context(), pool, i, files[i:i+1]); err != nil {
			t.Fatal(err)
		}
		made, err := schema(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		if sum := schemaSum(made); i >= len(schemaSums) || sum != schemaSums[i] {
			t.Errorf("what %s makes has the sum %s", file, sum)
		}
	}
}
