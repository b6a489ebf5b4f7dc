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
	live := s
	live.State = store.Recording
	keepFound(dir, &live, d, []byte("7"))
	if _, known := found(dir, &live, d); known {
		t.Error("kept of a session that goes on")
	}
	keepFound(dir, &s, d, []byte("7"))
	if n, known := found(dir, &s, d); string(n) != "7" || !known {
		t.Errorf("%q, %v; want 7", n, known)
	}
	other := s
	other.Chains[store.Out].Frames++
	if _, known := found(dir, &other, d); known {
		t.Error("known of another session")
	}
	if _, known := found(dir, &s, build(t, "pi", nil).Dialect); known {
		t.Error("known of another reading")
	}
	model := s
	model.Exchanged++
	if _, known := found(dir, &model, d); known {
		t.Error("known of a session with another exchange")
	}
	keepFound(dir, &other, d, nil)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v; want the newest alone", files, err)
	}
	if n, known := found(dir, &other, d); len(n) > 0 || !known {
		t.Errorf("%q, %v; want that nothing was found", n, known)
	}
	for _, text := range []string{"", "agentrec found 1\n3\n", "3", foundMagic[:10]} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, known := found(dir, &other, d); known {
			t.Errorf("%q was taken", text)
		}
	}
}
