package replay

import (
	"strings"
	"testing"
)

// A label that no frame of the client has is told with the nearest one; the
// settings of many recordings may name labels that this one lacks.
func TestStrangers(t *testing.T) {
	file := recordLines(t, "acp", `in {"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}`, `out {"jsonrpc":"2.0","id":1,"result":{}}`)
	rules := func(shared bool, texts ...string) func(*Options) {
		return func(o *Options) {
			f := labelFlag{rules: &o.Labels}
			if shared {
				if err := f.Replace(texts); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, text := range texts {
				if err := f.Set(text); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Options)
		says   string
	}{
		{"known", func(o *Options) { o.Free = []string{"session/list"} }, ""},
		{"a slip", func(o *Options) { o.Free = []string{"session/lst", "session/lst"} }, `agentrec: --free session/lst: the recorded client sends no such frame; did you mean "session/list"?`},
		{"another", func(o *Options) { o.Free = []string{"prompt"} }, `agentrec: --free prompt: the recorded client sends no such frame; write one of session/list`},
		{"a rule", rules(false, "initialize:match=kind"), `agentrec: --label initialize: the recorded client sends no such frame; write one of session/list`},
		{"a rule of the settings", rules(true, "initialize:match=kind"), ""},
		{"a slip in the settings", rules(true, "session/lisp:match=kind"), `agentrec: --label session/lisp: the recorded client sends no such frame; did you mean "session/list"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{File: file}
			c.change(&o)
			live := startReplay(t, o)
			live.send(`{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}`)
			live.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			if _, err := live.close(); err != nil {
				t.Fatal(err)
			}
			said, _, _ := strings.Cut(live.side.String(), "agentrec: replay of ")
			if strings.TrimSpace(said) != c.says {
				t.Errorf("said %q, want %q", said, c.says)
			}
		})
	}
}
