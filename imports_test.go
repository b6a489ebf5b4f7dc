package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layer is the order of the packages: a package imports only packages of a
// higher number, or those named beside it.
var layer = map[string]int{
	"agentrec":                     0,
	"agentrec/record":              1,
	"agentrec/replay":              1,
	"agentrec/inspect":             1,
	"agentrec/internal/llm":        2,
	"agentrec/internal/transcript": 2,
	"agentrec/internal/tape":       3,
	"agentrec/internal/redact":     4,
	"agentrec/internal/dialect":    5,
	"agentrec/internal/child":      5,
	"agentrec/internal/printable":  6,
	"agentrec/internal/address":    6,
	"agentrec/store":               6,
	"agentrec/migrations":          7,
}

// only says which packages may import a module: the rule is that a library has
// one owner.
var only = map[string][]string{
	"modernc.org/sqlite":       {"agentrec/store"},
	"github.com/rivo/tview":    {"agentrec/inspect"},
	"github.com/gdamore/tcell": {"agentrec/inspect"},
	"github.com/spf13/cobra":   {"agentrec", "agentrec/record", "agentrec/replay", "agentrec/inspect"},
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata" || d.Name() == "samples" || d.Name() == "helpers") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		pkg := "agentrec"
		if dir := filepath.ToSlash(filepath.Dir(path)); dir != "." {
			pkg += "/" + dir
		}
		own, known := layer[pkg]
		if !known {
			t.Errorf("%s: package %s has no layer", path, pkg)
			return nil
		}
		seen[pkg] = true
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range file.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			if name == "agentrec" || strings.HasPrefix(name, "agentrec/") {
				if l, ok := layer[name]; !ok || l <= own {
					t.Errorf("%s: %s must not import %s", path, pkg, name)
				}
			}
			for lib, owners := range only {
				if (name == lib || strings.HasPrefix(name, lib+"/")) && !slices.Contains(owners, pkg) {
					t.Errorf("%s: only %v may import %s", path, owners, lib)
				}
			}
			if strings.HasPrefix(name, "github.com/spf13/cobra") && pkg != "agentrec" && filepath.Base(path) != "command.go" &&
				!strings.HasPrefix(filepath.Base(path), "command_") {
				t.Errorf("%s: cobra belongs in command.go", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"agentrec/record", "agentrec/replay", "agentrec/inspect", "agentrec/store", "agentrec/internal/tape"} {
		if !seen[pkg] {
			t.Errorf("package %s was not looked at", pkg)
		}
	}
}
