package inspect

import (
	"context"
	"strings"
	"testing"

	"agentrec/store"
)

// Exchanges of two sessions stand beside each other, wherever their server
// was, and can be opened and searched from there.
func TestOpenExchangesFromCompare(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	other := phiExchanges()
	for i := range other {
		other[i].URL = strings.Replace(other[i].URL, "api.openai.com", "127.0.0.1:8080", 1)
	}
	last := &other[len(other)-1]
	last.Body = []byte(strings.Replace(string(last.Body), "Oslo", "Rome", 1))
	recordToldInto(t, path, phiSteps, other)
	d := drive(t, path, 120, 30)
	d.settle()
	d.keys("=").settle()
	d.wants("1 difference", "⇄ gpt-5")
	d.keys("d", "Space").wants("left", "right", "Rome").keys("<").wants("e5 POST")
	d.tick() // reads what has come of the exchange
	d.settle()
	d.keys("Esc", "g", "/").types("light drizzle that nobody spoke of").settle()
	d.wants("was not found").keys("/").types("slow down").settle()
	d.keys("Enter").wants("rate_limit_error: Slow down")
}

// What a replay waits for is told of the frame on the screen.
func TestWhatAReplayWaitsFor(t *testing.T) {
	d := drive(t, record(t, "demo", phiSteps), 80, 24)
	d.settle()
	made := 0
	d.causes = func(_ context.Context, s *store.Session, _ string) (func(int64) string, error) {
		made++
		return func(seq int64) string {
			if seq == 7 {
				return "when 4 (its request) came, after 6 (the order of its lane)"
			}
			return ""
		}, nil
	}
	d.keys("Enter").settle()
	d.keys(":").types("7").keys("Enter", "4").wants("looking for what it waits for").settle()
	d.wants("goes out      when 4 (its request) came, after 6", "its lane)", "from #4 to #7")
	d.keys(":").types("go 8").settle()
	if screen := strings.Join(d.rows(), "\n"); strings.Contains(screen, "goes out     ") || made != 1 {
		t.Errorf("made %d times:\n%s", made, screen)
	}
}
