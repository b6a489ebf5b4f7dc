package replay

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The home and temporary folder of the recording stand for those of the replay,
// as whole prefixes of paths only; a client that names the recorded ones does
// nothing wrong.
func TestFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.agentrec")
	text := `{"agentrec":1,"cwd":"/app","folders":{"home":"/home/ann","temp":"/tmp"},"dialect":"acp"}
["in", 0, {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/app","mcpServers":[]}}]
["out", 0, {"jsonrpc":"2.0","id":1,"result":{"sessionId":"S"}}]
["in", 0, {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":"read /home/ann/.rc, /tmp/a and /tmpfile"}]}}]
["out", 0, {"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"sessionId":"S","path":"/tmp/a"}}]
["in", 0, {"jsonrpc":"2.0","id":0,"result":{"content":"at /tmp/a"}}]
["out", 0, {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","note":"/home/ann/x, /app/y, /home/annex, /srv/tmp, /app-2"}}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/home/bob")
	t.Setenv("TMPDIR", "/var/tmp/bob/")
	begin := func() *liveClient {
		c := startReplay(t, Options{File: file})
		c.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/code/bob","mcpServers":[]}}`)
		c.want(`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"S"}}`)
		return c
	}
	for _, content := range []string{"/var/tmp/bob/a", "/tmp/a"} {
		c := begin()
		c.send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":"read /home/bob/.rc, /var/tmp/bob/a and /tmpfile"}]}}`)
		c.want(`{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"sessionId":"S","path":"/var/tmp/bob/a"}}`)
		c.send(`{"jsonrpc":"2.0","id":0,"result":{"content":"at ` + content + `"}}`)
		c.want(`{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","note":"/home/bob/x, /code/bob/y, /home/annex, /srv/tmp, /app-2"}}`)
		if rest, err := c.close(); err != nil || len(rest) > 0 {
			t.Fatalf("%s: left with %v, unread %q\n%s", content, err, rest, c.side)
		}
	}
	for _, wrong := range []string{"read /home/eve/.rc, /tmp/a and /tmpfile", "read /home/bob/.rc, /tmp/a and /var/tmp/bobfile"} {
		c := begin()
		c.send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":"` + wrong + `"}]}}`)
		if _, err := c.close(); !errors.As(err, new(Divergence)) {
			t.Errorf("%s was accepted: %v", wrong, err)
		}
	}
}
