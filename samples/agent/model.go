package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// model is the API of a real model, in the form of OpenAI's chat completions.
type model struct {
	base, key string
	client    http.Client
	talk      map[string][]message // of each conversation
}

type message struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCalls  []asked `json:"tool_calls,omitempty"`
	ToolCallID string  `json:"tool_call_id,omitempty"`
}

// asked is a tool call of the model.
type asked struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func newModel() *model {
	m := &model{base: os.Getenv("OPENAI_BASE_URL"), key: os.Getenv("OPENAI_API_KEY"), talk: map[string][]message{}}
	if m.base == "" {
		m.base = "https://api.openai.com/v1"
	}
	return m
}

// modelTurn runs one query by asking the model until it calls no more tools.
func (a *agent) modelTurn(session, query string) {
	m := a.model
	m.talk[session] = append(m.talk[session], message{Role: "user", Content: &query})
	for {
		answer, err := m.ask(m.talk[session], a.sorted(), func(text string) { a.event("textDelta", "text", text) })
		if err != nil {
			a.send(`{"type":"error","code":"TURN_ERROR","message":%s}`, quote(err.Error()))
			return
		}
		m.talk[session] = append(m.talk[session], answer)
		if len(answer.ToolCalls) == 0 {
			break
		}
		for _, call := range answer.ToolCalls {
			t, args := a.tools[call.Function.Name], map[string]string{}
			summary, outcome := "there is no tool "+call.Function.Name, ""
			if t.Name != "" && json.Unmarshal([]byte(call.Function.Arguments), &args) == nil {
				summary, outcome = a.call(t, args)
			}
			if outcome != "" {
				a.send(`{"type":"done","seq":%d,"outcome":%s}`, a.seq, quote(outcome))
				return
			}
			m.talk[session] = append(m.talk[session], message{Role: "tool", Content: &summary, ToolCallID: call.ID})
		}
	}
	a.event("runFinished")
	a.send(`{"type":"done","seq":%d,"outcome":"completed"}`, a.seq)
}

// ask sends the conversation and returns the model's message, whose text goes to
// say as it comes. A model that has no time is asked again, twice.
func (m *model) ask(talk []message, tools []tool, say func(string)) (message, error) {
	list := []any{}
	for _, t := range tools {
		list = append(list, map[string]any{"type": "function", "function": t})
	}
	body := quote(map[string]any{"model": "sample", "stream": true, "messages": talk, "tools": list})
	for try := 0; ; try++ {
		r, err := http.NewRequest("POST", m.base+"/chat/completions", strings.NewReader(body))
		if err != nil {
			return message{}, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+m.key)
		answer, err := m.client.Do(r)
		if err != nil {
			return message{}, err
		}
		if answer.StatusCode == http.StatusTooManyRequests && try < 2 {
			answer.Body.Close()
			continue
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			var refused struct{ Error struct{ Message string } }
			json.NewDecoder(answer.Body).Decode(&refused)
			return message{}, fmt.Errorf("the model answered %s: %s", answer.Status, refused.Error.Message)
		}
		return read(bufio.NewReader(answer.Body), say)
	}
}

// read joins a streamed message.
func read(stream *bufio.Reader, say func(string)) (message, error) {
	m := message{Role: "assistant"}
	for {
		line, err := stream.ReadBytes('\n')
		if err != nil {
			return m, fmt.Errorf("the model broke off: %w", err)
		}
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			return m, nil
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   *string
					ToolCalls []asked `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return m, fmt.Errorf("the model sent no JSON: %w", err)
		}
		for _, c := range chunk.Choices {
			if text := c.Delta.Content; text != nil {
				if m.Content == nil {
					m.Content = new(string)
				}
				*m.Content += *text
				say(*text)
			}
			m.ToolCalls = append(m.ToolCalls, c.Delta.ToolCalls...) // ours come whole
		}
	}
}
