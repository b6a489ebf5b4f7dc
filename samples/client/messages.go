package main

import "encoding/json"

// The client's frames, with their fields in the order they are sent in.
type (
	typed struct {
		Type string `json:"type"`
	}
	register struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	createSession struct {
		Type      string `json:"type"`
		SessionID string `json:"session_id"`
	}
	runTurn struct {
		Type      string `json:"type"`
		SessionID string `json:"session_id"`
		Query     string `json:"query"`
		Config    config `json:"config"`
	}
	config struct {
		Model  string `json:"model"`
		APIKey string `json:"api_key"`
	}
	toolResult struct {
		Type        string `json:"type"`
		CallID      string `json:"call_id"`
		Summary     string `json:"summary"`
		Raw         any    `json:"raw"`
		ControlFlow string `json:"control_flow"`
	}
)

func newRun(o options, query string) runTurn {
	return runTurn{Type: "run", SessionID: o.session, Query: query, Config: config{Model: "sample-model", APIKey: o.key}}
}
