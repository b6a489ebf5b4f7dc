package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// schema is the part of JSON Schema that schema.json uses.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"`
	Enum       []any              `json:"enum"`
	AnyOf      []*schema          `json:"anyOf"`
	Properties map[string]*schema `json:"properties"`
	Additional json.RawMessage    `json:"additionalProperties"`
	Required   []string           `json:"required"`
	Items      *schema            `json:"items"`
	Pattern    string             `json:"pattern"`
	MinItems   int                `json:"minItems"`
	Min        int                `json:"minProperties"`
	Max        int                `json:"maxProperties"`
	Defs       map[string]*schema `json:"$defs"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	s := new(schema)
	if err := json.Unmarshal(Schema(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// complain returns what is wrong with v, "" when it fits.
func (root *schema) complain(s *schema, v any, at string) string {
	if s.Ref != "" {
		return root.complain(root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")], v, at)
	}
	if s.AnyOf != nil {
		var all []string
		for _, one := range s.AnyOf {
			c := root.complain(one, v, at)
			if c == "" {
				return ""
			}
			all = append(all, c)
		}
		return strings.Join(all, " and ")
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return fmt.Sprintf("%s: %v is none of %v", at, v, s.Enum)
	}
	kind := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Bool: "boolean", reflect.Map: "object", reflect.Slice: "array", reflect.Invalid: "null"}[reflect.ValueOf(v).Kind()]
	if s.Type != nil && !strings.Contains(fmt.Sprint(s.Type), kind) && !(kind == "integer" && strings.Contains(fmt.Sprint(s.Type), "number")) {
		return fmt.Sprintf("%s: %s is not %v", at, kind, s.Type)
	}
	switch v := v.(type) {
	case string:
		if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) {
			return fmt.Sprintf("%s: %q does not match %s", at, v, s.Pattern)
		}
	case []any:
		for i, e := range v {
			if s.Items != nil {
				if c := root.complain(s.Items, e, fmt.Sprintf("%s[%d]", at, i)); c != "" {
					return c
				}
			}
		}
		if len(v) < s.MinItems {
			return at + ": too short"
		}
	case map[string]any:
		if len(v) < s.Min || s.Max > 0 && len(v) > s.Max {
			return at + ": wrong number of keys"
		}
		for _, k := range s.Required {
			if _, ok := v[k]; !ok {
				return at + " lacks " + k
			}
		}
		for k, e := range v {
			p, ok := s.Properties[k]
			if !ok && string(s.Additional) == "false" {
				return at + " has " + k
			}
			if !ok && s.Additional != nil {
				p = new(schema)
				if err := json.Unmarshal(s.Additional, p); err != nil {
					return err.Error()
				}
			}
			if p != nil {
				if c := root.complain(p, e, at+"."+k); c != "" {
					return c
				}
			}
		}
	}
	return ""
}

func TestSchemaFitsTables(t *testing.T) {
	root := readSchema(t)
	for _, name := range append(Names(), "testdata/tables/harbour.yaml") {
		file := name
		if !strings.Contains(name, "/") {
			file = "tables/" + name + ".yaml"
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		if c := root.complain(root, v, name); c != "" {
			t.Error(c)
		}
	}
	for _, bad := range []string{"{name: x}", "{name: X, families: [{name: a}]}", "{name: x, families: [{nam: a}]}", "{name: x, families: []}",
		"{name: x, families: [{name: a, when: {b: {is: strin}}}]}", "{name: x, lanes: two, families: [{name: a}]}"} {
		var v any
		if err := yaml.Unmarshal([]byte(bad), &v); err != nil {
			t.Fatal(err)
		}
		if root.complain(root, v, "") == "" {
			t.Errorf("the schema takes %s", bad)
		}
		if _, err := Parse("bad", []byte(bad)); err == nil {
			t.Errorf("the reader takes %s", bad)
		}
	}
}

// The schema names the keys and the words that the reader takes, no more and
// no fewer.
func TestSchemaFitsReader(t *testing.T) {
	root := readSchema(t)
	for name, of := range map[string]any{"table": table{}, "recognise": recognise{}, "family": family{}, "about": aboutSpec{}, "cancel": cancelSpec{}, "usage": usageSpec{}, "slot": slotSpec{}, "inner": innerSpec{}, "client": Client{}} {
		got := slices.Sorted(maps.Keys(root.Defs[name].Properties))
		want := keysOf(reflect.TypeOf(of))
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the reader %v", name, got, want)
		}
	}
	words := func(def, key string, want []string) {
		var got []string
		for _, e := range root.Defs[def].Properties[key].Enum {
			got = append(got, e.(string))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, slices.DeleteFunc(want, func(w string) bool { return w == "" })) {
			t.Errorf("%s of %s: the schema has %v, the reader %v", key, def, got, want)
		}
	}
	shows := []string{none}
	for _, s := range AllShows {
		shows = append(shows, string(s))
	}
	words("family", "shows", shows)
	words("family", "role", slices.Collect(maps.Keys(roleWords)))
	words("family", "class", slices.Collect(maps.Keys(classWords)))
	words("family", "delta", slices.Collect(maps.Keys(deltaWords)))
	words("cancel", "target", slices.Collect(maps.Keys(scopeWords)))
	words("inner", "stream", slices.Collect(maps.Keys(streamWords)))
	words("test", "is", slices.Clone(kinds))
}
