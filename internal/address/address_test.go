package address

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestALivingSocketIsNotRemoved: only one that refuses connections was left.
func TestALivingSocketIsNotRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	other, err := net.ListenPacket("unixgram", path) // alive, and a stream cannot connect to it
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if l, err := Listen(t.Context(), "unix:"+path); err == nil {
		l.Close()
		t.Error("took the socket of another process")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}

	left := filepath.Join(t.TempDir(), "left")
	dead, err := net.Listen("unix", left)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	l, err := Listen(t.Context(), "unix:"+left)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestCheck(t *testing.T) {
	for _, addr := range []string{":0", ":8080", "127.0.0.1:1", "[::1]:9", "localhost:http", "unix:/tmp/s"} {
		if err := Check("listen", addr); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, addr := range []string{"", "8080", ":", "host:", ":999999", ":-1", "::1", "unix:", "a:b:c"} {
		if err := Check("listen", addr); err == nil || !strings.HasPrefix(err.Error(), "--listen "+addr+": write ") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
