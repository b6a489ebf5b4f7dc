package llm

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// writeError answers with an error in the wire's own shape, which SDKs show to
// their caller and do not retry.
func writeError(w http.ResponseWriter, row *rule, status int, message string) {
	var body any
	switch row.Error {
	case "anthropic":
		body = map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": message}}
	case "gemini":
		body = map[string]any{"error": map[string]any{"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
	case "ollama":
		body = map[string]any{"error": message}
	default:
		body = map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": "agentrec"}}
	}
	b, err := json.Marshal(body)
	if err != nil {
		b = []byte(`{}`) // does not happen: only strings and numbers
	}
	b = append(b, '\n')
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	w.Write(b) // the agent may have left; nobody else wants to know
}
