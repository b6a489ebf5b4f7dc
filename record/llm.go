package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentrec/internal/llm"
	"agentrec/internal/tape"
	"agentrec/store"
)

// model is what stands between the agent and its model. A nil one stands
// nowhere.
type model struct {
	route   store.Route
	front   *llm.Front
	capture *llm.Capture
}

// model begins to listen for the agent's model traffic, if that is wanted.
func (o *Options) model(t *tape.Tape) (*model, error) {
	if o.LLM == "" {
		return nil, nil
	}
	m := &model{route: o.LLM, capture: llm.NewCapture(t, o.LLM)}
	var err error
	m.front, err = llm.NewFront(llm.FrontOptions{Route: o.LLM, Handler: m.capture, Hosts: o.LLMHosts, DotEnv: dotEnv()})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// env returns the agent's environment.
func (m *model) env(environ []string) []string {
	if m == nil {
		return environ
	}
	return m.front.Env(environ)
}

// end waits for the requests that still run, for patience at most, and stops
// listening.
func (m *model) end(patience time.Duration) {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	m.front.Shutdown(ctx)
	m.capture.Close()
}

// unused says why a session may lack what was asked for, "" when all is well.
func (m *model) unused() string {
	switch {
	case m == nil || m.front.Requests() > 0:
		return ""
	case m.route == store.RouteBaseURL:
		return "the agent sent no model request to the base URLs it was given; if it asked a model, record it with --llm mitm"
	}
	return "the agent sent no request to a model's host through its proxy; if it asked a model, name that host with --llm-host"
}

// checkLLM refuses a route and hosts that cannot be meant.
func (o *Options) checkLLM() error {
	switch o.LLM {
	case "", store.RouteBaseURL, store.RouteMITM:
	default:
		return fmt.Errorf("--llm %s: write --llm base-url or --llm mitm", o.LLM)
	}
	if len(o.LLMHosts) > 0 && o.LLM != store.RouteMITM {
		return errors.New("--llm-host goes with --llm mitm")
	}
	for _, host := range o.LLMHosts {
		if err := llm.CheckHost(host); err != nil {
			return fmt.Errorf("--llm-host: %w", err)
		}
	}
	return nil
}
