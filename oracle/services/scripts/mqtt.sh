printf 'listener 1883 0.0.0.0\nallow_anonymous true\n' >conf
exec mosquitto -c $D/conf
