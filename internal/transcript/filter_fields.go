package transcript

import (
	"agentrec/internal/dialect"
)

// field is something that an expression can ask about.
type field struct {
	name  string
	alias string
	kind  fieldKind
	of    fieldOf
	words []string // the values that a choice can have
	doc   string
}

type fieldKind uint8

const (
	kindText   fieldKind = iota // =, != with globs, :, ~
	kindChoice                  // = one of words
	kindNumber                  // compared, ranges
	kindTime                    // a duration, compared, ranges
	kindSize                    // bytes, compared, ranges
	kindFlag                    // stands alone
	kindSearch                  // : and ~ only
	kindJSON                    // a place in the frame
)

// fieldOf says what has to be at hand to decide a condition.
type fieldOf uint8

const (
	ofSession fieldOf = iota
	ofEntry
	ofPayload
)

var (
	roleWords   = []string{"raw", "request", "response", "notification", "cancel"}
	streamWords = []string{"in", "out", "err"}
	stateWords  = []string{"recording", "closed", "cut"}
)

// fields are the names of the language, in the order of the help.
var fields = []*field{
	{"label", "l", kindText, ofEntry, nil, "the label of the frame"},
	{"role", "", kindChoice, ofEntry, roleWords, "raw, request, response, notification, cancel"},
	{"stream", "", kindChoice, ofEntry, streamWords, "in (from the client), out, err"},
	{"shows", "", kindChoice, ofEntry, showsWords(), "what a reader sees: prompt, text, call, result, ..."},
	{"conversation", "conv", kindText, ofEntry, nil, "the protocol's own session id"},
	{"turn", "", kindNumber, ofEntry, nil, "number of the turn, 0 outside"},
	{"seq", "", kindNumber, ofEntry, nil, "number of the frame"},
	{"time", "", kindTime, ofEntry, nil, "since the start of the session"},
	{"took", "", kindTime, ofEntry, nil, "from a request to its response, or a call to its result"},
	{"size", "", kindSize, ofEntry, nil, "bytes of the frame"},
	{"tool", "", kindText, ofEntry, nil, "name of the tool of a call or result"},
	{"call", "", kindText, ofEntry, nil, "id of the call"},
	{"text", "t", kindSearch, ofPayload, nil, "the frame's bytes, and its text as a reader sees it"},
	{"failed", "", kindFlag, ofEntry, nil, "reports a failure"},
	{"open", "", kindFlag, ofEntry, nil, "a request without response, or a call without result"},
	{"json", "", kindFlag, ofEntry, nil, "is valid JSON"},
	{"delta", "", kindFlag, ofEntry, nil, "is a part of a text"},
	{"event", "", kindFlag, ofEntry, nil, "is a lifecycle event, not a frame"},
	{"exchange", "", kindNumber, ofEntry, nil, "number of an LLM exchange; alone: is one, not a frame"},
	{"status", "", kindNumber, ofEntry, nil, "of an exchange: the HTTP status, 0 without an answer"},
	{"host", "", kindText, ofEntry, nil, "of an exchange: the server that was asked"},
	{"path", "", kindText, ofEntry, nil, "of an exchange: the path of its URL"},
	{"model", "", kindText, ofEntry, nil, "of an exchange: the model that was asked"},
	{"attempt", "", kindNumber, ofEntry, nil, "of an exchange: 2 for the second try of one that failed"},
	{"name", "", kindText, ofSession, nil, "name of the session"},
	{"tag", "", kindText, ofSession, nil, "a tag of the session, as key=value"},
	{"dialect", "", kindText, ofSession, nil, "dialect of the session"},
	{"state", "", kindChoice, ofSession, stateWords, "recording, closed, cut"},
	{"command", "", kindText, ofSession, nil, "the agent's command line"},
}

var jsonField = &field{kind: kindJSON, of: ofPayload}

func showsWords() []string {
	words := make([]string, 0, len(shows))
	for _, s := range shows[1:] {
		words = append(words, string(s))
	}
	return words
}

func fieldNamed(name string) *field {
	for _, f := range fields {
		if f.name == name || f.alias != "" && f.alias == name {
			return f
		}
	}
	return nil
}

// wordCondition returns what a word means that stands alone: a flag, a stream,
// a role, something shown; nil when it is a label.
func wordCondition(word string) *condition {
	f := fieldNamed(word)
	switch {
	case f == nil:
	case f.kind == kindFlag:
		return &condition{field: f}
	case f.name == "exchange":
		return &condition{field: f, op: opGreaterEqual, text: "1", shown: "1", lo: 1, hi: 1}
	}
	for _, f := range fields {
		if f.kind != kindChoice {
			continue
		}
		for _, w := range f.words {
			if w == word {
				return &condition{field: f, op: opEqual, text: word, shown: word}
			}
		}
	}
	return nil
}

// RoleName returns the name of a role, as filters and --json have it.
func RoleName(r dialect.Role) string {
	if int(r) < len(roleWords) {
		return roleWords[r]
	}
	return ""
}
