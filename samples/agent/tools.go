package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// tool is one that a model could call: the client's, or the agent's own, which
// has run.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	run         func(string) string
}

// pick returns the tools whose names hold one of words, in order of name.
func (a *agent) pick(words []string) []tool {
	return slices.DeleteFunc(a.sorted(), func(t tool) bool {
		return !slices.ContainsFunc(strings.Split(t.Name, "_"), func(part string) bool { return holds(words, part) })
	})
}

func (a *agent) sorted() []tool {
	list := make([]tool, 0, len(a.tools))
	for _, t := range a.tools {
		list = append(list, t)
	}
	slices.SortFunc(list, func(x, y tool) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// holds says whether word is among words, in any case.
func holds(words []string, word string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, word) })
}

// arguments are what a model would call t with: an own tool gets the query,
// each property of a client's tool the last word of it.
func (t tool) arguments(query string, words []string) map[string]string {
	if t.run != nil {
		return map[string]string{"text": query}
	}
	var schema struct{ Properties map[string]any }
	args := map[string]string{}
	if json.Unmarshal(t.Parameters, &schema) == nil && len(words) > 0 {
		for name := range schema.Properties {
			args[name] = words[len(words)-1]
		}
	}
	return args
}

// ownTools are there before any client registers one.
var ownTools = []tool{
	{
		Name: "count_words", Description: "Counts the words of a text.", Parameters: textSchema,
		run: func(text string) string { return fmt.Sprintf("%d words", len(strings.Fields(text))) },
	},
	{
		Name: "reverse_text", Description: "Turns a text round.", Parameters: textSchema,
		run: func(text string) string {
			letters := []rune(text)
			slices.Reverse(letters)
			return string(letters)
		},
	},
}

var textSchema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
