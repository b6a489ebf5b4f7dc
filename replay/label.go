package replay

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"agentrec/internal/dialect"
)

// A LabelRule says how client frames of one label are compared. What it does
// not say holds for them as for all others; ignored places and values add up.
type LabelRule struct {
	Label  string
	least  Level // None for no other
	ignore dialect.Paths
	values []*regexp.Regexp
	shared bool // from the settings, for more recordings than this one
}

// labelRule splits LABEL:KEY=VALUE. A label may hold colons itself.
var labelRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+?):([a-z-]+)=(.*)$`) })

// ParseLabelRule reads LABEL:match=LEVEL, LABEL:ignore=PATH or
// LABEL:ignore-value=REGEX.
func ParseLabelRule(text string) (LabelRule, error) {
	parts := labelRule().FindStringSubmatch(text)
	if parts == nil {
		return LabelRule{}, fmt.Errorf("%q is no rule; write LABEL:match=LEVEL, LABEL:ignore=PATH or LABEL:ignore-value=REGEX", text)
	}
	r := LabelRule{Label: parts[1]}
	var err error
	switch key, value := parts[2], parts[3]; key {
	case "match":
		var ok bool
		if r.least, ok = levelNames[value]; !ok {
			err = fmt.Errorf("%s: match %q is not known; use exact, content, shape or kind", r.Label, value)
		}
	case "ignore":
		r.ignore, err = dialect.ParsePaths(value)
	case "ignore-value":
		var re *regexp.Regexp
		re, err = regexp.Compile(value)
		r.values = append(r.values, re)
	default:
		err = fmt.Errorf("%s: there is no %q for a label; use match, ignore or ignore-value", r.Label, key)
	}
	if err != nil {
		return LabelRule{}, fmt.Errorf("reading the rule of a label: %w", err)
	}
	return r, nil
}

// byLabel merges the rules of each label; the last level counts.
func byLabel(rules []LabelRule) map[string]LabelRule {
	out := map[string]LabelRule{}
	for _, r := range rules {
		all, ok := out[r.Label]
		if !ok {
			out[r.Label] = r
			continue
		}
		if r.least != None {
			all.least = r.least
		}
		all.ignore = all.ignore.Join(r.ignore)
		all.values = append(all.values[:len(all.values):len(all.values)], r.values...)
		out[r.Label] = all
	}
	return out
}

// rule returns what holds for the recorded frame i.
func (e *engine) rule(i int32) LabelRule {
	label := e.s.labels[e.s.ins[e.s.items[i].need].label]
	r, ok := e.o.labels[label]
	if !ok {
		return LabelRule{Label: label, least: e.o.least, ignore: e.o.ignore, values: e.o.values}
	}
	if r.least == None || e.o.update {
		r.least = e.o.least
	}
	r.ignore = e.o.ignore.Join(r.ignore)
	r.values = append(r.values[:len(r.values):len(r.values)], e.o.values...)
	return r
}

// labelFlag is the flag of rules: each as LABEL:KEY=VALUE, checked when it is
// set, so that a wrong line of the settings file is told by its place.
type labelFlag struct {
	texts []string
	rules *[]LabelRule
}

func (f *labelFlag) String() string     { return strings.Join(f.texts, " ") }
func (f *labelFlag) Type() string       { return "rule" }
func (f *labelFlag) Set(s string) error { return f.Append(s) }

// Append adds a rule.
func (f *labelFlag) Append(s string) error {
	r, err := ParseLabelRule(s)
	if err != nil {
		return err
	}
	f.texts, *f.rules = append(f.texts, s), append(*f.rules, r)
	return nil
}

// Replace takes other rules instead.
func (f *labelFlag) Replace(list []string) error {
	f.texts, *f.rules = nil, nil
	for _, s := range list {
		if err := f.Append(s); err != nil {
			return err
		}
	}
	for i := range *f.rules {
		(*f.rules)[i].shared = true
	}
	return nil
}

// GetSlice returns the rules as they were written.
func (f *labelFlag) GetSlice() []string { return f.texts }
