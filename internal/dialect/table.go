package dialect

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// A table as it stands in a file. TABLES.md says what every key means, and
// schema.json is held to these structs by a test.
type table struct {
	Name      string          `yaml:"name"`
	Title     string          `yaml:"title"`
	Doc       string          `yaml:"doc"`
	Extends   string          `yaml:"extends"`
	Tag       string          `yaml:"tag"`
	Lanes     string          `yaml:"lanes"`
	Input     string          `yaml:"input"`
	Batch     bool            `yaml:"batch"`
	Recognise []recognise     `yaml:"recognise"`
	Argv      []string        `yaml:"argv"`
	Volatile  list            `yaml:"volatile" merge:"add"`
	Secret    list            `yaml:"secret" merge:"add"`
	Slots     []slotSpec      `yaml:"slots" merge:"add"`
	Refuse    yaml.Node       `yaml:"refuse"`
	Require   map[string]list `yaml:"require"`
	Clients   []Client        `yaml:"clients" merge:"add"`
	Families  []family        `yaml:"families"`
}

// recognise is a sign by which the first frames tell the dialect.
type recognise struct {
	Stream string `yaml:"stream"`
	When   when   `yaml:"when"`
	Score  int    `yaml:"score"`
}

// family says how the frames of one kind are read.
type family struct {
	line         int
	Name         string          `yaml:"name"`
	Doc          string          `yaml:"doc"`
	Stream       string          `yaml:"stream"`
	When         when            `yaml:"when" merge:"add"`
	Label        list            `yaml:"label"`
	Role         string          `yaml:"role"`
	Class        string          `yaml:"class"`
	ID           list            `yaml:"id"`
	Key          list            `yaml:"key"`
	Answers      list            `yaml:"answers"`
	Handle       list            `yaml:"handle"`
	Conversation list            `yaml:"conversation"`
	Opens        list            `yaml:"opens"`
	About        *aboutSpec      `yaml:"about"`
	Cancel       *cancelSpec     `yaml:"cancel"`
	Together     list            `yaml:"together"`
	First        bool            `yaml:"first"`
	Turn         bool            `yaml:"turn"`
	Idle         bool            `yaml:"idle"`
	Ends         *truth          `yaml:"ends"`
	Failed       *truth          `yaml:"failed"`
	Shows        string          `yaml:"shows"`
	Text         list            `yaml:"text"`
	Delta        string          `yaml:"delta"`
	Part         list            `yaml:"part"`
	Call         list            `yaml:"call"`
	Tool         list            `yaml:"tool"`
	Args         list            `yaml:"args"`
	Split        string          `yaml:"split"`
	Agent        list            `yaml:"agent"`
	Usage        *usageSpec      `yaml:"usage"`
	Slots        []slotSpec      `yaml:"slots" merge:"add"`
	Inner        *innerSpec      `yaml:"inner"`
	Volatile     list            `yaml:"volatile" merge:"add"`
	Secret       list            `yaml:"secret" merge:"add"`
	Refuse       yaml.Node       `yaml:"refuse"`
	Require      map[string]list `yaml:"require" merge:"add"`
	Returns      map[string]list `yaml:"returns" merge:"add"`
	Cases        []family        `yaml:"cases"`
}

type aboutSpec struct {
	Path list   `yaml:"path"`
	Of   string `yaml:"of"`
	By   string `yaml:"by"`
}

type cancelSpec struct {
	Target   string `yaml:"target"`
	ID       list   `yaml:"id"`
	Answered bool   `yaml:"answered"`
}

type usageSpec struct {
	Input  list `yaml:"input"`
	Output list `yaml:"output"`
	Cached list `yaml:"cached"`
	Cost   list `yaml:"cost"`
	SoFar  list `yaml:"so_far"`
}

type slotSpec struct {
	Path   string `yaml:"path"`
	Space  string `yaml:"space"`
	Stream string `yaml:"stream"`
	Minted string `yaml:"minted"`
	Mints  bool   `yaml:"mints"`
	Ref    bool   `yaml:"ref"`
}

type innerSpec struct {
	Path    string `yaml:"path"`
	Dialect string `yaml:"dialect"`
	Stream  string `yaml:"stream"`
}

// Client is a client known to have a limit that a replay must respect.
type Client struct {
	Name  string `yaml:"name"`  // as people know it
	Queue int    `yaml:"queue"` // frames it holds before it gives up, 0 for no known limit
	Line  int    `yaml:"line"`  // longest line it reads, in bytes, 0 for no known limit
}

// list is one text or several.
type list []string

func (l *list) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = list{n.Value}
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return atLine(n, "write one text here, or a list of texts")
	}
	*l = make(list, 0, len(n.Content))
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode {
			return atLine(c, "write a text here")
		}
		*l = append(*l, c.Value)
	}
	return nil
}

// truth is true, false, or true when conditions hold.
type truth struct {
	when  when
	never bool
}

func (f *truth) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Value != "true" && n.Value != "false" {
			return atLine(n, "write true, false, or conditions such as {error: {is: present}}")
		}
		f.never = n.Value == "false"
		return nil
	}
	return n.Decode(&f.when)
}

func atLine(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

func (t *table) UnmarshalYAML(n *yaml.Node) error {
	type plain table
	return strict(n, "a table", (*plain)(t))
}

func (r *recognise) UnmarshalYAML(n *yaml.Node) error {
	type plain recognise
	return strict(n, "a sign of recognise", (*plain)(r))
}

func (f *family) UnmarshalYAML(n *yaml.Node) error {
	type plain family
	err := strict(n, "a family", (*plain)(f))
	f.line = n.Line
	return err
}

func (a *aboutSpec) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return a.Path.UnmarshalYAML(n)
	}
	type plain aboutSpec
	return strict(n, "about", (*plain)(a))
}

func (c *cancelSpec) UnmarshalYAML(n *yaml.Node) error {
	type plain cancelSpec
	return strict(n, "cancel", (*plain)(c))
}

func (u *usageSpec) UnmarshalYAML(n *yaml.Node) error {
	type plain usageSpec
	return strict(n, "usage", (*plain)(u))
}

func (s *slotSpec) UnmarshalYAML(n *yaml.Node) error {
	type plain slotSpec
	return strict(n, "a slot", (*plain)(s))
}

func (i *innerSpec) UnmarshalYAML(n *yaml.Node) error {
	type plain innerSpec
	return strict(n, "inner", (*plain)(i))
}

func (c *Client) UnmarshalYAML(n *yaml.Node) error {
	type plain Client
	return strict(n, "a client", (*plain)(c))
}

// strict decodes a mapping into a struct and refuses keys that it does not
// have, with the nearest one that it has.
func strict(n *yaml.Node, what string, into any) error {
	if n.Kind != yaml.MappingNode {
		return atLine(n, "%s is a mapping of keys to values", what)
	}
	known := keysOf(reflect.TypeOf(into).Elem())
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if !slices.Contains(known, key.Value) {
			return atLine(key, "%s has no key %q; %s", what, key.Value, Suggest(key.Value, known))
		}
	}
	return n.Decode(into)
}

// knownKeys keeps what keysOf has found: a table asks hundreds of times.
var knownKeys sync.Map // reflect.Type to []string

func keysOf(t reflect.Type) []string {
	if known, ok := knownKeys.Load(t); ok {
		return known.([]string)
	}
	var list []string
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("yaml"); tag != "" {
			list = append(list, tag)
		}
	}
	knownKeys.Store(t, list)
	return list
}

// Suggest says which of the known words is nearest to one that is none of them,
// or names them all.
func Suggest(word string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(word, k); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "write one of " + strings.Join(known, ", ")
}

// distance is how many letters have to change to make b of a.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0]++
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}

// maxTable bounds a table file, in bytes.
const maxTable = 1 << 20

// parseTable reads a table. JSON is YAML too.
func parseTable(data []byte) (*table, error) {
	if len(data) > maxTable {
		return nil, fmt.Errorf("the table is larger than %d bytes", maxTable)
	}
	t := new(table)
	if err := yaml.Unmarshal(data, t); err != nil {
		var wrong *yaml.TypeError
		if errors.As(err, &wrong) && len(wrong.Errors) > 0 {
			return nil, errors.New(plainWords.Replace(wrong.Errors[0]))
		}
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return t, nil
}

// plainWords puts the YAML reader's complaints in the words of the format.
var plainWords = strings.NewReplacer(
	"cannot unmarshal", "cannot take", "!!seq", "a list", "!!map", "a mapping", "!!str", "the text", "!!int", "the number",
	"!!bool", "the truth value", "into []", "as a list of ", "into ", "as ", "dialect.", "",
)

// inherited are the fields of a family that a case takes over; merge says that
// they add up.
var inherited = sync.OnceValue(func() (fields []struct {
	index int
	merge bool
}) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[family]()) {
		if f.IsExported() && f.Name != "Cases" {
			fields = append(fields, struct {
				index int
				merge bool
			}{f.Index[0], f.Tag.Get("merge") != ""})
		}
	}
	return fields
})

// inherit returns the case c of the family f: what c does not say, f says.
func (f family) inherit(c family) family {
	out, from := reflect.ValueOf(&c).Elem(), reflect.ValueOf(f)
	for _, field := range inherited() {
		switch own, base := out.Field(field.index), from.Field(field.index); {
		case base.IsZero():
		case own.IsZero():
			own.Set(base)
		case !field.merge:
		case own.Kind() == reflect.Map:
			both := reflect.MakeMap(own.Type())
			for _, m := range []reflect.Value{base, own} {
				for _, k := range m.MapKeys() {
					both.SetMapIndex(k, m.MapIndex(k))
				}
			}
			own.Set(both)
		default:
			own.Set(reflect.AppendSlice(base.Slice3(0, base.Len(), base.Len()), own))
		}
	}
	return c
}

// flatten returns the families with their cases in front of them.
func flatten(families []family) []family {
	var out []family
	for _, f := range families {
		cases := make([]family, len(f.Cases))
		for i, c := range f.Cases {
			cases[i] = f.inherit(c)
		}
		out = append(out, flatten(cases)...)
		f.Cases = nil
		out = append(out, f)
	}
	return out
}
