package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schemaCheck is as much of JSON Schema as textform.schema.json uses; another
// keyword fails the test.
type schemaCheck struct{ root map[string]any }

func (c schemaCheck) check(schema, v any) error {
	if schema == true {
		return nil
	}
	s := schema.(map[string]any)
	for word, arg := range s {
		ok := true
		switch word {
		case "$schema", "title", "description", "$defs":
		case "$ref":
			at := any(c.root)
			for _, key := range strings.Split(strings.TrimPrefix(arg.(string), "#/"), "/") {
				at = at.(map[string]any)[key]
			}
			if err := c.check(at, v); err != nil {
				return err
			}
		case "oneOf":
			n := 0
			var errs []string
			for _, one := range arg.([]any) {
				if err := c.check(one, v); err == nil {
					n++
				} else {
					errs = append(errs, err.Error())
				}
			}
			if n != 1 {
				return fmt.Errorf("%d of oneOf fit: %s", n, strings.Join(errs, "; "))
			}
		case "type":
			switch v := v.(type) {
			case map[string]any:
				ok = arg == "object"
			case []any:
				ok = arg == "array"
			case string:
				ok = arg == "string"
			case bool:
				ok = arg == "boolean"
			case json.Number:
				ok = arg == "number" || arg == "integer" && !strings.ContainsAny(v.String(), ".eE")
			default:
				ok = false
			}
		case "const":
			ok = fmt.Sprint(arg) == fmt.Sprint(v)
		case "enum":
			ok = slices.Contains(arg.([]any), v)
		case "pattern":
			if text, is := v.(string); is {
				ok = regexp.MustCompile(arg.(string)).MatchString(text)
			}
		case "required":
			if o, is := v.(map[string]any); is {
				for _, key := range arg.([]any) {
					if _, has := o[key.(string)]; !has {
						ok = false
					}
				}
			}
		case "properties":
			if o, is := v.(map[string]any); is {
				for key, inner := range arg.(map[string]any) {
					if value, has := o[key]; has {
						if err := c.check(inner, value); err != nil {
							return fmt.Errorf("%s: %w", key, err)
						}
					}
				}
			}
		case "additionalProperties":
			if o, is := v.(map[string]any); is {
				for key, value := range o {
					if err := c.check(arg, value); err != nil {
						return fmt.Errorf("%s: %w", key, err)
					}
				}
			}
		case "items":
			if a, is := v.([]any); is {
				for _, value := range a {
					if err := c.check(arg, value); err != nil {
						return err
					}
				}
			}
		case "prefixItems":
			if a, is := v.([]any); is {
				for i, inner := range arg.([]any) {
					if i < len(a) {
						if err := c.check(inner, a[i]); err != nil {
							return fmt.Errorf("element %d: %w", i, err)
						}
					}
				}
			}
		case "minItems":
			if a, is := v.([]any); is {
				ok = fmt.Sprint(arg) <= fmt.Sprint(len(a))
			}
		case "maxItems":
			if a, is := v.([]any); is {
				ok = fmt.Sprint(len(a)) <= fmt.Sprint(arg)
			}
		default:
			return fmt.Errorf("the test does not know the keyword %s", word)
		}
		if !ok {
			return fmt.Errorf("%v does not fit %s %v", v, word, arg)
		}
	}
	return nil
}

func decodeNumbers(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

func TestTextFitsItsSchema(t *testing.T) {
	file, err := os.ReadFile("textform.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := schemaCheck{}
	if err := decodeNumbers(file, &c.root); err != nil {
		t.Fatal(err)
	}
	s := hardSession(t, newDB(t))
	edited := bytes.Replace(export(t, s), []byte(`"a":1,"a":2`), []byte(`"a":1,"b":2`), 1)
	second, _ := again(t, edited)
	lines := bytes.Split(bytes.TrimSuffix(append(export(t, s), second...), []byte("\n")), []byte("\n"))
	if len(lines) < 80 {
		t.Fatalf("only %d lines", len(lines))
	}
	for _, line := range lines {
		var v any
		if err := decodeNumbers(line, &v); err != nil {
			t.Fatalf("%v in %.200s", err, line)
		}
		if err := c.check(c.root, v); err != nil {
			t.Errorf("%.200s: %v", line, err)
		}
	}
	for _, line := range []string{`{}`, `{"agentrec":2}`, `["in",0]`, `["in",0.5,{}]`, `["in:text",0,{}]`, `["in",0,{},"lf"]`, `["x",0,{}]`, `["event",0,{}]`, `["exchange",0,{"header":[["a"]]}]`, `["exchange",0,{"pieces":[["a",1]]}]`, `["proof",0,{"state":"recording"}]`, `7`} {
		var v any
		if err := decodeNumbers([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if c.check(c.root, v) == nil {
			t.Errorf("%s fits the schema", line)
		}
	}
}

// The example in the documentation is one that a reader takes.
func TestTextFormExample(t *testing.T) {
	doc, err := os.ReadFile("TEXTFORM.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("there is no example")
	}
	lines := strings.SplitAfter(example, "\n")
	var keep string
	for _, line := range lines {
		if !strings.HasPrefix(line, `["proof"`) {
			keep += line
		}
	}
	list, err := temp(t).Import(t.Context(), strings.NewReader(keep), "TEXTFORM.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(export(t, list[0]))
	if !strings.HasPrefix(text, keep) {
		t.Errorf("the example is not how agentrec writes it:\n%s", text)
	}
	if s := list[0]; s.Count() != 4 || s.Chains[In].Bytes != 30 {
		t.Errorf("the example's proof would be %d frames, %d bytes in", s.Count(), s.Chains[In].Bytes)
	}
}
