<!doctype html><html lang="en"><head><title>Safe deposit</title></head><body><h1>Safe deposit</h1><form id="f"><input name="box" value="12"><input name="pin" type="password"><button>Open</button></form><p id="o"></p>
<script>
document.getElementById('f').addEventListener('submit', function (e) {
  e.preventDefault();
  fetch('/open.php', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ box: e.target.box.value, pin: e.target.pin.value }) })
    .then(function (r) { return r.json(); }).then(function (d) { document.getElementById('o').textContent = d.error || d.inside; });
});
</script></body></html>
