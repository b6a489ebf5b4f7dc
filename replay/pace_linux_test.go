package replay

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnread holds what a drain goes by, for pipes and for the socket pairs that
// Node uses instead.
func TestUnread(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, ends := range map[string][2]*os.File{
		"pipe":        {r, w},
		"socket pair": {os.NewFile(uintptr(pair[0]), "reader"), os.NewFile(uintptr(pair[1]), "writer")},
	} {
		reader, writer := ends[0], ends[1]
		if n, ok := unread(writer.Fd()); n != 0 || !ok {
			t.Errorf("%s, empty: %d, %v", name, n, ok)
		}
		if _, err := writer.WriteString("four"); err != nil {
			t.Fatal(err)
		}
		if n, ok := unread(writer.Fd()); n < 1 || !ok {
			t.Errorf("%s, four bytes in it: %d, %v", name, n, ok)
		}
		if n, err := reader.Read(make([]byte, 10)); n != 4 || err != nil {
			t.Fatalf("%s: read %d, %v", name, n, err)
		}
		if n, ok := unread(writer.Fd()); n != 0 || !ok {
			t.Errorf("%s, read: %d, %v", name, n, ok)
		}
		reader.Close()
		if n, ok := unread(writer.Fd()); ok {
			t.Errorf("%s, reader gone: %d, %v", name, n, ok)
		}
		writer.Close()
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if n, ok := unread(null.Fd()); ok {
		t.Errorf("%s: %d, %v", os.DevNull, n, ok)
	}
}
