package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"k8s.io/klog/v2"
)

// serveHealth answers 200 once the kernel has both queues bound, since until then pods have no network at all.
func serveHealth(address string, queues ...int) {
	http.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		bound := boundQueues()
		for _, queue := range queues {
			if !bound[strconv.Itoa(queue)] {
				http.Error(w, fmt.Sprintf("queue %d is not bound", queue), http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, "ok")
	})
	if err := http.ListenAndServe(address, nil); err != nil {
		klog.Fatalf("cannot serve health on %s: %v", address, err)
	}
}

func boundQueues() map[string]bool {
	bound := map[string]bool{}
	text, _ := os.ReadFile("/proc/net/netfilter/nfnetlink_queue")
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 0 {
			bound[fields[0]] = true
		}
	}
	return bound
}
