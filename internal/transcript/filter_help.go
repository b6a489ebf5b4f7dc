package transcript

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// FilterHelp is the page about the filter language.
func FilterHelp() string {
	var b strings.Builder
	b.WriteString(`A filter chooses frames. It is what --filter (-f) takes, and the / of the
terminal view.

Conditions
  label = session/*     a field, a comparison, a value. Words take * and ? as
                        wildcards; quotes take a text as it is: label = "a*b"
  .params.sessionId = "x"
                        a place in the frame: keys and indexes joined by dots,
                        * for any one, ** for any number of them. Numbers
                        compare by their exact value, "1" is not 1. Alone it
                        asks whether the place exists: .error
  failed                a word that stands alone, see below

  =   equal             !=  not equal         <  <=  >  >=  order
  :   contains          ~   matches a regular expression: text ~ /time ?out/i
  a..b                  from a to b, also a.. and ..b: turn = 2..4

  and, or, not, ( ).  Conditions side by side must both hold:
  failed tool = bash is failed and tool = bash. Also !x, && and ||.

Short forms
  #20   20   #20..30    seq = 20, seq = 20..30
  "words"               text:"words"
  /regexp/i             text ~ /regexp/i
  out   request   call  stream = out, role = request, shows = call
  tool_call   fs/*      label = tool_call, label = fs/*

Fields of frames
`)
	for _, f := range fields {
		if f.of != ofSession {
			fmt.Fprintf(&b, "  %-14s %s\n", f.name, f.doc)
		}
	}
	b.WriteString(`
Fields of the session they are in; alone they also choose sessions
`)
	for _, f := range fields {
		if f.of == ofSession {
			fmt.Fprintf(&b, "  %-14s %s\n", f.name, f.doc)
		}
	}
	b.WriteString(`
Times carry their unit (200ms, 1.5s, 2m), sizes may (500, 64KiB, 2MB).

Examples
  failed or open                      what went wrong
  turn = 3 and not delta              the third turn without its deltas
  took > 2s                           requests and calls that took long
  call tool = bash and "rm -rf"       calls of a tool that mention something
  in and .params.config.model = gpt*  what the client asked of a GPT
  stream = err and time > 10s         what the agent wrote to stderr late
  exchange and status >= 400          LLM requests that were refused
`)
	return b.String()
}

// CompleteFilter returns what can stand at the end of an unfinished
// expression, as whole expressions, in order. t may be nil; it knows the
// labels, tools and conversations there are.
func CompleteFilter(expr string, t *Transcript) []string {
	begin := strings.LastIndexAny(expr, " \t()!") + 1
	word := expr[begin:]
	before := expr[:begin]
	if strings.Count(expr, `"`)%2 == 1 {
		return nil
	}
	if i := strings.IndexAny(word, "=:<>"); i > 0 {
		if f := fieldNamed(word[:i]); f != nil {
			return completions(before+word[:i+1], word[i+1:], f.values(t))
		}
		return nil
	}
	if head := strings.TrimRight(before, " "); head != "" && strings.IndexByte("=:", head[len(head)-1]) >= 0 {
		if f := fieldNamed(lastWord(strings.TrimRight(head, "=!: "))); f != nil {
			return completions(before, word, f.values(t))
		}
		return nil
	}
	var words []string
	for _, f := range fields {
		words = append(words, f.name)
		if f.kind == kindChoice && f.of == ofEntry {
			words = append(words, f.words...)
		}
	}
	words = append(words, fieldNamed("label").values(t)...)
	if strings.TrimSpace(before) != "" {
		words = append(words, "and", "or", "not")
	}
	slices.Sort(words)
	return completions(before, word, slices.Compact(words))
}

func lastWord(s string) string { return s[strings.LastIndexAny(s, " \t()!")+1:] }

func completions(before, word string, words []string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, word) {
			out = append(out, before+w)
		}
	}
	return out
}

// values lists the values that a field has in a transcript.
func (f *field) values(t *Transcript) []string {
	var words []string
	add := func(s string) {
		if s != "" && !strings.ContainsAny(s, " \t()\"'") {
			words = append(words, s)
		}
	}
	switch {
	case f.kind == kindChoice:
		return f.words
	case t == nil:
	case f.name == "label":
		for _, l := range t.Labels {
			add(l.Name)
		}
	case f.name == "conversation":
		for _, c := range t.Conversations {
			add(c.Name)
		}
	case f.name == "tool":
		for i := range t.Calls {
			add(t.Calls[i].Name)
		}
	case f.name == "host" || f.name == "path":
		for i := range t.Exchanges {
			if u, err := url.Parse(t.Exchanges[i].URL); err == nil {
				add(map[string]string{"host": u.Host, "path": u.Path}[f.name])
			}
		}
	case f.name == "tag":
		for k, v := range t.Session.Tags {
			add(k + "=" + v)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}
