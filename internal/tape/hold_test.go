package tape

import (
	"os"
	"path/filepath"
	"testing"
)

// A held file is one holder's until its release, which leaves nothing behind.
func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "file")
	first, err := Hold(path)
	if err != nil || first == nil {
		t.Fatalf("the first gets %v, %v", first, err)
	}
	if second, err := Hold(path); err != nil || second != nil {
		t.Fatalf("the second gets %v, %v while the first has it", second, err)
	}
	first.Release()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
	again, err := Hold(path)
	if err != nil || again == nil {
		t.Fatalf("after the release: %v, %v", again, err)
	}
	again.Release()
	(*Held)(nil).Release()
}
