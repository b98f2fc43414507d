exec redis-server --bind 0.0.0.0 --port 6380 --requirepass secret --save '' --dir $D
