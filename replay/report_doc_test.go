package replay

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// REPORT.md names every field of a report and every kind of entry, and no other.
func TestReportIsDocumented(t *testing.T) {
	b, err := os.ReadFile("REPORT.md")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for line := range strings.SplitSeq(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			described[name] = true
		}
	}
	var names []string
	for _, typ := range []reflect.Type{reflect.TypeFor[Report](), reflect.TypeFor[Entry]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	names = append(names, Different, Refused, Extra, Missing, Unknown, Unsent, Stalled, Early, Inexact, Again, Answered, LeftOver, Faulted, Updated, Stranger, Ended)
	slices.Sort(names)
	for _, name := range slices.Compact(names) { // "ended" is a field and a kind
		if !described[name] {
			t.Errorf("%s is not described", name)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("%s is described but does not exist", name)
	}
}
