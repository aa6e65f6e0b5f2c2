package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"atoll/guest/agent/internal/account"
)

// soon is when a call that does not wait has returned.
const soon = 50 * time.Millisecond

func TestRequestsWaitForTheRoot(t *testing.T) {
	rooted := make(chan struct{})
	server := &Server{rooted: rooted}
	answers := make(chan int, 1)
	go func() {
		answer := httptest.NewRecorder()
		server.onceRooted(dispatch(server.routes())).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/health", nil))
		answers <- answer.Code
	}()
	waits(t, answers)
	close(rooted)
	if code := <-answers; code != http.StatusOK {
		t.Errorf("answers %d", code)
	}
}

func TestWhoItIsWaitsForTheRoot(t *testing.T) {
	rooted := make(chan struct{})
	server := &Server{rooted: rooted}
	told := make(chan error, 1)
	go func() { told <- server.Become([]byte(`{"env":{"COLOUR":"blue"}}`)) }()
	waits(t, told)
	close(rooted)
	if err := <-told; err != nil {
		t.Error(err)
	}
	if got := server.environment.of(account.Account{}, nil)["COLOUR"]; got != "blue" {
		t.Errorf("the environment has %q", got)
	}
}

func waits[T any](t *testing.T, answers <-chan T) {
	t.Helper()
	select {
	case answer := <-answers:
		t.Errorf("%v before there is a root", answer)
	case <-time.After(soon):
	}
}
