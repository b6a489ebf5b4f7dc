package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// settingsFile is looked for in the working directory and in those above it.
const settingsFile = ".agentrec.yaml"

// maxSettings bounds what is read of it, in bytes.
const maxSettings = 1 << 20

const settingsHelp = `Every flag has three places to come from; the first that has it wins:

  1. the command line:       --match shape
  2. a variable:             AGENTREC_MATCH=shape
  3. a line of the file:     match: shape

The variable of a flag is AGENTREC_ and its name in capitals, with _ for -. A
flag that may be repeated takes one value a line. The agent does not inherit
these variables from its recorder.

The file is .agentrec.yaml in the working directory or, if there is none, in the
nearest directory above it. Names of flags stand for every command that has
them; the name of a command holds flags for it alone, and these win:

  db: recordings/session.db
  match: shape
  proxy:
    redact:
      - 'CUST-\d{6}'
  replay:
    match: exact
    ignore: [params._meta.**, result.usage]
    label:
      tool_result: {match: shape}
      run:
        ignore: [config.**]
        ignore-value: '\d{4}-\d\d-\d\d'

"label" of replay holds, for labels of client frames, how these are compared:
match instead of the level of all frames, ignore and ignore-value besides those
of all frames. On the command line that is --label 'run:ignore=config.**'.

"db" also says which recording the commands read that are given none. Paths in
"db" and "dialect" are relative to the file. A name that is no flag is an error. On Unix a
file that belongs to someone else is not read.`

// newSettingsTopic is a page of help: agentrec help settings.
func newSettingsTopic() *cobra.Command {
	return &cobra.Command{Use: "settings", Short: "Where flags come from besides the command line, one page", Long: settingsHelp}
}

// applySettings sets the flags of cmd that the command line did not set, from
// variables and from the settings file.
func applySettings(cmd *cobra.Command) error {
	s, err := findSettings()
	if err != nil {
		return err
	}
	if s.path != "" {
		if err := s.check(cmd.Root()); err != nil {
			return err
		}
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || !settable(f) {
			return
		}
		variable := "AGENTREC_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v := os.Getenv(variable); v != "" {
			if err := setFlag(cmd, f, strings.Split(v, "\n")); err != nil {
				errs = append(errs, fmt.Errorf("%s=%s: %w", variable, v, err))
			}
			return
		}
		if values, line := s.flag(cmd, f.Name); line > 0 {
			if err := setFlag(cmd, f, values); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %s: %w", s.path, line, f.Name, err))
			}
		}
	})
	if db, line := s.top("db"); line > 0 && os.Getenv("AGENTREC_DB") == "" {
		errs = append(errs, os.Setenv("AGENTREC_DB", db[0])) // what commands read without FILE
	}
	return errors.Join(errs...)
}

// settable reports whether a flag can have a setting: those that make a
// command do something else cannot.
func settable(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }

func setFlag(cmd *cobra.Command, f *pflag.Flag, values []string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		if err := list.Replace(values); err != nil {
			return err
		}
		f.Changed = true
		return nil
	}
	if len(values) != 1 {
		return errors.New("takes one value")
	}
	return wanted(cmd.Flags().Set(f.Name, values[0]))
}

// settings is the settings file, empty when there is none.
type settings struct {
	path string
	own  map[string]value            // of flags
	by   map[string]map[string]value // of commands
}

type value struct {
	list []string
	line int
}

// findSettings reads the nearest settings file.
func findSettings() (*settings, error) {
	dir, err := os.Getwd()
	if err != nil {
		return &settings{}, nil // a working directory that is gone has no settings
	}
	for {
		path := filepath.Join(dir, settingsFile)
		f, err := os.Open(path)
		if err == nil {
			defer f.Close()
			info, err := f.Stat()
			if err == nil && info.Mode().IsRegular() {
				if !ownedByUs(info) {
					return &settings{}, nil
				}
				return readSettings(f, path)
			}
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("reading the settings: %w", err)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return &settings{}, nil
		}
		dir = up
	}
}

func readSettings(f io.Reader, path string) (*settings, error) {
	b, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	if len(b) > maxSettings {
		return nil, fmt.Errorf("%s: longer than %d bytes", path, maxSettings)
	}
	s := &settings{path: path, own: map[string]value{}, by: map[string]map[string]value{}}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(b)).Decode(&doc); errors.Is(err, io.EOF) {
		return s, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return s, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: want names of flags and commands with their values; see agentrec help settings", path, root.Line)
	}
	err = pairs(root, path, func(key, node *yaml.Node) error {
		if node.Kind != yaml.MappingNode {
			v, err := valueOf(node, path, key.Value)
			s.own[key.Value] = v
			return err
		}
		s.by[key.Value] = map[string]value{"": {line: key.Line}}
		return pairs(node, path, func(key2, node *yaml.Node) error {
			v, err := valueOf(node, path, key2.Value)
			s.by[key.Value][key2.Value] = v
			return err
		})
	})
	return s, err
}

// pairs calls fn for every key and value of a mapping; a key twice is an error.
func pairs(m *yaml.Node, path string, fn func(key, node *yaml.Node) error) error {
	var seen []string
	for i := 0; i+1 < len(m.Content); i += 2 {
		key := m.Content[i]
		if key.Kind != yaml.ScalarNode || key.Value == "" || slices.Contains(seen, key.Value) {
			return fmt.Errorf("%s:%d: %q stands there twice or is no name", path, key.Line, key.Value)
		}
		seen = append(seen, key.Value)
		if err := fn(key, m.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func valueOf(node *yaml.Node, path, key string) (value, error) {
	v := value{line: node.Line}
	if key == "label" && node.Kind == yaml.MappingNode {
		err := labels(node, path, &v)
		return v, err
	}
	nodes := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		nodes = node.Content
	}
	for _, n := range nodes {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return v, fmt.Errorf("%s:%d: %s: want a value or a list of values", path, n.Line, key)
		}
		text := n.Value
		if (key == "db" || key == "dialect" && isPath(text)) && !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(path), text)
		}
		v.list = append(v.list, text)
	}
	if key == "db" && len(v.list) != 1 {
		return v, fmt.Errorf("%s:%d: db: want one file", path, node.Line)
	}
	return v, nil
}

// isPath tells a table file, or a folder of them, from a dialect's name.
func isPath(dialect string) bool {
	ext := filepath.Ext(dialect)
	return strings.ContainsAny(dialect, `/\`) || ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// labels reads what holds for frames of single labels, in the form of the flag:
// LABEL:KEY=VALUE.
func labels(node *yaml.Node, path string, v *value) error {
	return pairs(node, path, func(label, rules *yaml.Node) error {
		if rules.Kind != yaml.MappingNode {
			return fmt.Errorf("%s:%d: label %s: want match, ignore or ignore-value with their values", path, rules.Line, label.Value)
		}
		return pairs(rules, path, func(key, node *yaml.Node) error {
			if !slices.Contains([]string{"match", "ignore", "ignore-value"}, key.Value) {
				return fmt.Errorf("%s:%d: label %s: there is no %q; use match, ignore or ignore-value", path, key.Line, label.Value, key.Value)
			}
			list, err := valueOf(node, path, key.Value)
			for _, text := range list.list {
				v.list = append(v.list, label.Value+":"+key.Value+"="+text)
			}
			return err
		})
	})
}

func (s *settings) top(name string) ([]string, int) {
	v := s.own[name]
	return v.list, v.line
}

// flag returns the setting of a flag of cmd, with line 0 when there is none.
func (s *settings) flag(cmd *cobra.Command, name string) ([]string, int) {
	if v, ok := s.by[commandName(cmd)][name]; ok {
		return v.list, v.line
	}
	return s.top(name)
}

// commandName is the path of a command less the program: "dialect check".
func commandName(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// check refuses names that are neither a flag nor a command.
func (s *settings) check(root *cobra.Command) error {
	known := map[string][]string{}
	all := []string{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		flags := []string{}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if settable(f) {
				flags = append(flags, f.Name)
			}
		})
		known[commandName(cmd)] = flags
		all = append(all, flags...)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for name, v := range s.own {
		if !slices.Contains(all, name) {
			return fmt.Errorf("%s:%d: no command has a flag --%s; see agentrec help settings", s.path, v.line, name)
		}
	}
	for command, flags := range s.by {
		if _, ok := known[command]; !ok || command == "" {
			return fmt.Errorf("%s:%d: there is no command %q; see agentrec help settings", s.path, flags[""].line, command)
		}
		for name, v := range flags {
			if name != "" && !slices.Contains(known[command], name) {
				return fmt.Errorf("%s:%d: %s has no flag --%s", s.path, v.line, command, name)
			}
		}
	}
	return nil
}
