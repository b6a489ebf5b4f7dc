package replay

import (
	"testing"

	"agentrec/store"
)

func TestTexts(t *testing.T) {
	pairs := func(list ...string) []textPair {
		v := newView(&bindings{})
		for i := 0; i < len(list); i += 2 {
			v.apply(binding{recorded: list[i], live: list[i+1]})
		}
		return v.pairs(store.Out)
	}
	for _, c := range []struct {
		name  string
		pairs []textPair
		in    string
		want  string
	}{
		{"a path", pairs("/home/dev/proj", "/tmp/x"), "in /home/dev/proj/a.go, /home/dev/proj.", "in /tmp/x/a.go, /tmp/x."},
		{"not another path", pairs("/home/dev/proj", "/tmp/x"), "/home/dev/project /srv/home/dev/proj /home/dev/proj-2 /home/dev/proj.d", "/home/dev/project /srv/home/dev/proj /home/dev/proj-2 /home/dev/proj.d"},
		{"swapped", pairs("/w/a1", "/w/b2", "/w/b2", "/w/a1"), "/w/a1 and /w/b2", "/w/b2 and /w/a1"},
		{"the longest first", pairs("/w/a", "/x/y", "/w/a/deep", "/z/deep"), "/w/a/deep/f /w/a/f", "/z/deep/f /x/y/f"},
		{"an id at token boundaries", pairs("sess-12345678", "s-new"), "sess-12345678 xsess-12345678 sess-123456789", "s-new xsess-12345678 sess-123456789"},
		{"no plain words, numbers or short values", pairs("terminal", "x", "12345678", "y", "t-1", "z", "/tmp", "q"), "terminal 12345678 t-1 /tmp", "terminal 12345678 t-1 /tmp"},
		{"not on the result", pairs("aaaa-1111", "bbbb-2222", "bbbb-2222", "cccc-3333"), "aaaa-1111", "bbbb-2222"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(apply([]byte(c.in), texts(c.pairs, c.in))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestLiterals(t *testing.T) {
	v := newView(&bindings{})
	v.apply(binding{recorded: `C:\work\proj`, live: `D:\x"y`})
	v.apply(binding{recorded: "/home/dev/é1", live: "/tmp/x\n"})
	for in, want := range map[string]string{
		`{"p":"C:\\work\\proj\\f.go","n":1.50}`:        `{"p":"D:\\x\"y\\f.go","n":1.50}`,
		`{"a":"\/home\/dev\/\u00e91\/f","b":"\u0041"}`: `{"a":"/tmp/x\n\/f","b":"\u0041"}`,
		`{"/home/dev/é1/k":["/home/dev/é1"]}`:          `{"/tmp/x\n/k":["/tmp/x\n"]}`,
		`{"a":"x\\"}`:                                  `{"a":"x\\"}`,
	} {
		if got := string(apply([]byte(in), literals(v.pairs(store.Out), []byte(in), nil))); got != want {
			t.Errorf("%s became\n%s, want\n%s", in, got, want)
		}
	}
}

// The working directory of the replay takes the recorded one's place, in slots
// and in text, and a binding by hand does so for any value.
func TestBind(t *testing.T) {
	file := recordLines(t, "acp",
		`in {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/home/dev/proj","mcpServers":[]}}`,
		`out {"jsonrpc":"2.0","id":1,"result":{"sessionId":"S"}}`,
		`out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"see /home/dev/proj/a.go on host-0001"}}}}`)
	c := startReplay(t, Options{File: file, Bind: []string{"host-0001=host-0002"}})
	c.send(`{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":"/somewhere/else","mcpServers":[]}}`)
	c.want(`{"jsonrpc":"2.0","id":"x","result":{"sessionId":"S"}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"see /somewhere/else/a.go on host-0002"}}}}`)
	if rest, err := c.close(); err != nil || len(rest) > 0 {
		t.Fatalf("left with %v, unread %q\n%s", err, rest, c.side)
	}
}
