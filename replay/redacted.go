package replay

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agentrec/internal/redact"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// redactedSpace is the namespace of redaction tokens among the bindings.
const redactedSpace = "redacted"

// tokenForm is how a redacted value stands in a recording.
var tokenForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<redacted:[A-Za-z0-9_.:\-]+>`) })

// tokener makes the token that stands for a secret in the recording.
type tokener func(kind string, secret []byte) string

// standsFor reports whether a token is known to stand for the live text: the
// key is at hand and gives the same token.
func (t tokener) standsFor(token, live string) bool {
	kind, ok := redact.IsToken(token)
	return ok && t != nil && t(kind, []byte(live)) == token
}

// redacted reports whether a recorded value is equal to a live one but for
// redacted parts. The first live text in the place of a token binds; equal
// tokens need equal live texts. Where the key is at hand the very secret that was
// recorded fits whatever is bound, and fits better than another.
func (e *engine) redacted(f *fit, recorded, live string) bool {
	if !strings.Contains(recorded, "<redacted:") {
		return false
	}
	pattern, text := unquoted(recorded), unquoted(live)
	if !quoted(live) || !quoted(recorded) {
		return false
	}
	places := tokenForm().FindAllStringIndex(pattern, -1)
	if len(places) == 0 {
		return false
	}
	found, strange := map[string]string{}, 0
	known := func(token string) (string, bool) {
		if v, ok := found[token]; ok {
			return v, true
		}
		if v, ok := f.tokens[token]; ok {
			return v, true
		}
		v, ok := e.now.values[naming(redactedSpace, token)]
		return v, ok
	}
	at := 0
	for n, p := range places {
		rest, ok := strings.CutPrefix(text, pattern[at:p[0]])
		if !ok {
			return false
		}
		token := pattern[p[0]:p[1]]
		at = p[1]
		v, bound := known(token)
		if bound {
			if text, ok = strings.CutPrefix(rest, v); ok {
				continue
			}
		}
		end := len(pattern)
		if n+1 < len(places) {
			end = places[n+1][0]
		}
		cut := len(rest)
		if next := pattern[at:end]; next != "" {
			if n+1 < len(places) {
				cut = strings.Index(rest, next)
			} else {
				cut = strings.LastIndex(rest, next)
			}
		} else if n+1 < len(places) {
			return false // two redacted values side by side: where one ends is unknown
		}
		if cut <= 0 {
			return false
		}
		same := e.o.token.standsFor(token, rest[:cut])
		if bound && !same {
			return false
		}
		if e.o.token != nil && !same {
			strange++
		}
		found[token], text = rest[:cut], rest[cut:]
	}
	if text != pattern[at:] {
		return false
	}
	maps.Copy(f.tokens, found)
	f.strange += strange
	return true
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// hide takes secrets out of the live side of differences before they are
// reported: what stands where the dialect keeps secrets, and every value that a
// redaction token has been bound to.
func (e *engine) hide(live []byte, d []transcript.Difference) []transcript.Difference {
	secret := e.s.dialect.Secret(store.In, live)
	out := slices.Clone(d)
	for i := range out {
		if out[i].Live == "" {
			continue
		}
		if !secret.Empty() && secret.Match(splitPath(out[i].Path)) {
			out[i].Live = `"<redacted>"`
			continue
		}
		if strings.Contains(out[i].Recorded, "<redacted:") && quoted(out[i].Live) {
			out[i].Live = `"<redacted>"`
			continue
		}
		for _, p := range e.now.secret {
			if len(p.live) >= 4 {
				out[i].Live = strings.ReplaceAll(out[i].Live, p.live, p.recorded)
			}
		}
	}
	return out
}
