package transcript

import (
	"os"
	"path/filepath"
	"testing"

	"agentrec/store"
)

// TestFoundKept: what a check came to is known of the session as it was, read
// as it was, and of no other.
func TestFoundKept(t *testing.T) {
	tr := build(t, "phi", phi(`in {"type":"run","query":"q"}`, `out {"type":"done","seq":1,"outcome":"completed"}`))
	s, d, dir := *tr.Session, tr.Dialect, t.TempDir()
	keepFound(dir, 3, &s, d, 7)
	if _, known := found(dir, &s, d); known {
		t.Error("kept of a short session")
	}
	keepFound(dir, 1, &s, d, 7)
	if n, known := found(dir, &s, d); n != 7 || !known {
		t.Errorf("%d, %v; want 7", n, known)
	}
	other := s
	other.Chains[store.Out].Frames++
	if _, known := found(dir, &other, d); known {
		t.Error("known of another session")
	}
	if _, known := found(dir, &s, build(t, "pi", nil).Dialect); known {
		t.Error("known of another reading")
	}
	keepFound(dir, 1, &other, d, 0)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v; want the newest alone", files, err)
	}
	for _, text := range []string{"", "agentrec found 1\n-3\n", "agentrec found 2\n3\n", "3"} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, known := found(dir, &other, d); known {
			t.Errorf("%q was taken", text)
		}
	}
}
