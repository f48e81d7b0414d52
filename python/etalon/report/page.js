// Unpacks plotly.js and draws the interactive figures. Until then, and in browsers that cannot, the printed ones are seen.
"use strict";
(async () => {
  const figures = [...document.querySelectorAll("figure[data-figure]")];
  const packed = document.getElementById("plotly");
  if (!figures.length || !packed || !window.DecompressionStream) return;
  const bytes = Uint8Array.from(atob(packed.textContent.trim()), (c) => c.charCodeAt(0));
  packed.remove();
  const code = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const script = document.createElement("script");
  script.textContent = code;
  document.head.append(script);

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    return { "font.color": get("--ink"), "hoverlabel.bgcolor": get("--panel"), "hoverlabel.font.color": get("--ink") };
  };
  const narrow = matchMedia("(max-width: 36rem)").matches; // on a phone the buttons would lie on the legend
  const config = {
    responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover",
    modeBarButtonsToRemove: ["lasso2d", "select2d"],
  };
  const draw = async (figure) => {
    const place = figure.querySelector(".interactive");
    const { data, layout } = JSON.parse(figure.querySelector("script").textContent);
    figure.classList.add("live");
    await Plotly.newPlot(place, data, layout, config);
    await Plotly.relayout(place, colours());
  };
  for (const figure of figures) await draw(figure);
  document.documentElement.dataset.figures = "drawn";
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const place of document.querySelectorAll(".interactive")) Plotly.relayout(place, colours());
  });
})();
